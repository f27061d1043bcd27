import * as z from 'zod';
import { orAxis } from '../driver.ts';
import { limitSettings, programOf } from '../started-program.ts';

const MODES = ['throughput', 'latency'] as const;
const BACKENDS = ['pytorch', 'tensorrt', '_autodeploy'] as const;

const count = (least: number) => orAxis(z.number().int().min(least));

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
    model: z.string().min(1).describe('Name at Hugging Face: meta-llama/Llama-3.1-8B'),
    modelPath: z.string().min(1).describe('Folder of the checkpoint').optional(),
    backend: orAxis(z.enum(BACKENDS)).describe('What runs the model. Default: pytorch').optional(),
    engineDir: z.string().min(1).describe('Folder of the built engine, for backend: tensorrt').optional(),
    dataset: z
      .string()
      .min(1)
      .describe(
        'JSON lines of requests, as bench model make-dataset writes them; its content is part of the cell. {name} stands for an axis',
      ),
    requests: count(1).describe('Only the first requests of the data set').optional(),
    warmup: count(0).describe('Requests before the timed ones. Default of trtllm-bench: 2').optional(),
    streaming: orAxis(z.union([z.boolean(), z.enum(['on', 'off'])]))
      .describe('Tokens as they come: only then TTFT and TPOT are measured. For mode: throughput')
      .optional(),
    concurrency: count(1)
      .describe('Requests under way at the same time. Default: no limit, 1 in mode: latency')
      .optional(),
    tp: count(1).describe('Tensor parallelism').optional(),
    pp: count(1).describe('Pipeline parallelism').optional(),
    ep: count(1).describe('Expert parallelism').optional(),
    maxBatchSize: count(1).describe('For mode: throughput').optional(),
    maxNumTokens: count(1).describe('For mode: throughput').optional(),
    maxSeqLen: count(1).describe('Not for backend: tensorrt').optional(),
    kvCacheFraction: orAxis(z.number().gt(0).max(1))
      .describe('Part of the free memory for the KV cache. Default of trtllm-bench: 0.9')
      .optional(),
    config: z.string().min(1).describe('YAML with options of the LLM API; its content is part of the cell').optional(),
    extraArgs: z.array(z.string()).describe('More arguments of the subcommand; they are part of the cell').optional(),
    ...limitSettings(DEFAULT_ESTIMATE_S),
  })
  .describe('TensorRT-LLM by its own trtllm-bench (options as in 1.2.0rc3)');

export type TrtllmSettings = z.infer<typeof trtllmSettings>;

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
