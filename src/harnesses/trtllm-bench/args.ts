import { programOf } from '../started-program.ts';
import type { TrtllmSettings } from './settings.ts';

/** In the folder of the run. */
export const REPORT_NAME = 'report.json';

/**
 * The command line, as in tensorrt_llm/commands/bench.py and tensorrt_llm/bench/benchmark/{throughput,low_latency}.py
 * of NVIDIA/TensorRT-LLM 1.2.0rc3.
 */
export function trtllmArgs(
  settings: TrtllmSettings,
  resolve: (path: string) => string,
): readonly [string, ...string[]] {
  const { program = 'trtllm-bench', model, modelPath, engineDir, dataset, config } = settings;
  const path = (stated: string | undefined): string | undefined => (stated === undefined ? undefined : resolve(stated));
  const [started, ...before] = programOf(typeof program === 'string' ? [program] : program, resolve);
  return [
    started,
    ...before,
    ...option('--model', model),
    ...option('--model_path', path(modelPath)),
    String(settings.mode),
    ...option('--dataset', path(dataset)),
    ...option('--warmup', settings.warmup),
    ...option('--backend', settings.backend ?? 'pytorch'),
    ...option('--engine_dir', path(engineDir)),
    ...(isStreaming(settings) ? ['--streaming'] : []),
    ...option('--concurrency', settings.concurrency),
    ...option('--num_requests', settings.requests),
    ...option('--tp', settings.tp),
    ...option('--pp', settings.pp),
    ...option('--ep', settings.ep),
    ...option('--max_batch_size', settings.maxBatchSize),
    ...option('--max_num_tokens', settings.maxNumTokens),
    ...option('--max_seq_len', settings.maxSeqLen),
    ...option('--kv_cache_free_gpu_mem_fraction', settings.kvCacheFraction),
    ...option('--extra_llm_api_options', path(config)),
    ...(settings.extraArgs ?? []),
    ...option('--report_json', `{runFolder}/${REPORT_NAME}`),
  ];
}

/** True for what was asked for; in mode `latency` it is so without asking. */
export function isStreaming({ streaming }: TrtllmSettings): boolean {
  return streaming === true || streaming === 'on';
}

function option(flag: string, value: string | number | undefined): string[] {
  return value === undefined ? [] : [flag, String(value)];
}
