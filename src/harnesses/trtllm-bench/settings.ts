import * as z from 'zod';
import { orAxis } from '../driver.ts';
import { isStreaming, streamingSetting } from '../llm-values.ts';
import { countSetting, limitSettings, option, programOf, textSetting } from '../started-program.ts';

const MODES = ['throughput', 'latency'] as const;
const BACKENDS = ['pytorch', 'tensorrt', '_autodeploy'] as const;

export const DEFAULT_ESTIMATE_S = 120;

export const trtllmSettings = z
  .strictObject({
    kind: z.literal('trtllm-bench'),
    program: z
      .union([z.string().min(1), z.array(z.string()).min(1)])
      .describe(
        'What is started: a name or path, or a list such as [mpirun, -n, "2", trtllm-llmapi-launch, trtllm-bench]. Default: trtllm-bench',
      )
      .optional(),
    mode: orAxis(z.enum(MODES)).describe(
      'throughput: requests as fast as they are served; latency: at batch 1, always streamed',
    ),
    model: textSetting('Name at Hugging Face: meta-llama/Llama-3.1-8B'),
    modelPath: textSetting('Folder of the checkpoint').optional(),
    backend: orAxis(z.enum(BACKENDS)).describe('What runs the model. Default: pytorch').optional(),
    engineDir: textSetting('Folder of the built engine, for backend: tensorrt').optional(),
    dataset: textSetting(
      'JSON lines of requests, as bench model make-dataset writes them; its content is part of the cell. {name} is replaced by the value of an axis',
    ),
    requests: countSetting(1, 'Only the first requests of the data set').optional(),
    warmup: countSetting(0, 'Requests before the timed ones. Default of trtllm-bench: 2').optional(),
    streaming: streamingSetting
      .describe('Tokens as they come: only then TTFT and TPOT are measured. For mode: throughput')
      .optional(),
    concurrency: countSetting(
      1,
      'Requests under way at the same time. Default: no limit, 1 in mode: latency',
    ).optional(),
    tp: countSetting(1, 'Tensor parallelism').optional(),
    pp: countSetting(1, 'Pipeline parallelism').optional(),
    ep: countSetting(1, 'Expert parallelism').optional(),
    maxBatchSize: countSetting(1, 'For mode: throughput').optional(),
    maxNumTokens: countSetting(1, 'For mode: throughput').optional(),
    maxSeqLen: countSetting(1, 'Not for backend: tensorrt').optional(),
    kvCacheFraction: orAxis(z.number().gt(0).max(1))
      .describe('Part of the free memory for the KV cache. Default of trtllm-bench: 0.9')
      .optional(),
    config: textSetting('YAML with options of the LLM API; its content is part of the cell').optional(),
    extraArgs: z.array(z.string()).describe('More arguments of the subcommand; they are part of the cell').optional(),
    ...limitSettings(DEFAULT_ESTIMATE_S),
  })
  .describe('TensorRT-LLM by its own trtllm-bench (options as in 1.2.0rc3)');

export type TrtllmSettings = z.infer<typeof trtllmSettings>;

export const REPORT_NAME = 'report.json';

/** Settings that are options of the subcommand and part of the cell, in the order of both. */
export const CELL_OPTIONS = [
  ['concurrency', '--concurrency'],
  ['requests', '--num_requests'],
  ['tp', '--tp'],
  ['pp', '--pp'],
  ['ep', '--ep'],
  ['maxBatchSize', '--max_batch_size'],
  ['maxNumTokens', '--max_num_tokens'],
  ['maxSeqLen', '--max_seq_len'],
  ['kvCacheFraction', '--kv_cache_free_gpu_mem_fraction'],
] as const satisfies readonly (readonly [keyof TrtllmSettings, string])[];

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
    ...CELL_OPTIONS.flatMap(([name, flag]) => option(flag, settings[name])),
    ...option('--extra_llm_api_options', path(config)),
    ...(settings.extraArgs ?? []),
    ...option('--report_json', `{runFolder}/${REPORT_NAME}`),
  ];
}
