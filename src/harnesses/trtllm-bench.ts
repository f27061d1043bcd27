import * as z from 'zod';

import { defineHarness, type FoundReport, inJson, type JsonReport, option } from './define-harness.ts';
import * as llm from './llm.ts';
import * as setting from './settings.ts';

const MODES = ['throughput', 'latency'] as const;
const BACKENDS = ['pytorch', 'tensorrt', '_autodeploy'] as const;
const share = setting.orAxis(z.number().gt(0).max(1));

const trtllmSettings = {
  program: z
    .union([z.string().min(1), z.array(z.string()).min(1)])
    .describe(
      'The program: a name, a path, or a list such as [mpirun, -n, "2", trtllm-llmapi-launch, trtllm-bench]. Default: trtllm-bench',
    )
    .optional(),
  mode: setting
    .orAxis(z.enum(MODES))
    .describe('throughput: requests as fast as the server takes them; latency: batch 1, always streamed'),
  model: setting.text('Name at Hugging Face: meta-llama/Llama-3.1-8B'),
  modelPath: setting.text('Folder of the checkpoint').optional(),
  backend: setting.orAxis(z.enum(BACKENDS)).describe('Backend that runs the model. Default: pytorch').optional(),
  engineDir: setting.text('Folder of the built engine, for backend: tensorrt').optional(),
  dataset: setting.text(
    'JSON lines of requests, as bench model make-dataset writes them; its content is part of the cell. {name} is replaced by the value of an axis',
  ),
  requests: setting.count(1, 'Number of requests to use, from the start of the data set').optional(),
  warmup: setting.count(0, 'Warm-up requests. Default of trtllm-bench: 2').optional(),
  streaming: setting.streaming.describe('Stream the tokens: needed for TTFT and TPOT. For mode: throughput').optional(),
  concurrency: setting.count(1, 'Concurrent requests. Default: no limit, 1 in mode: latency').optional(),
  tp: setting.count(1, 'Tensor parallelism').optional(),
  pp: setting.count(1, 'Pipeline parallelism').optional(),
  ep: setting.count(1, 'Expert parallelism').optional(),
  maxBatchSize: setting.count(1, 'For mode: throughput').optional(),
  maxNumTokens: setting.count(1, 'For mode: throughput').optional(),
  maxSeqLen: setting.count(1, 'Not for backend: tensorrt').optional(),
  kvCacheFraction: share.describe('Part of the free memory for the KV cache. Default of trtllm-bench: 0.9').optional(),
  config: setting.text('YAML with options of the LLM API; its content is part of the cell').optional(),
  extraArgs: z.array(z.string()).describe('More arguments of the subcommand; they are part of the cell').optional(),
  ...setting.limits(120),
};

type TrtllmSettings = setting.SettingsOf<typeof trtllmSettings>;

/** TensorRT-LLM, measured by `trtllm-bench`. */
export const trtllmBenchDriver = defineHarness({
  kind: 'trtllm-bench',
  about: 'TensorRT-LLM, measured by its trtllm-bench (options as in 1.2.0rc3)',
  settings: trtllmSettings,
  defaultEstimateS: 120,
  // time.perf_counter_ns around each request. Source: tensorrt_llm/bench/benchmark/utils/asynchronous.py.
  timer: 'wall',
  // sorted[int(n * 0.99)]. Source: PercentileStats.from_iterable in tensorrt_llm/bench/dataclasses/statistics.py.
  percentileRule: 'orderStatistic',
  transfers: true,
  metric: llm.OUTPUT_THROUGHPUT,
  mark: /"avg_num_concurrent_requests"/,
  report: 'report.json',
  hashed: ({ config, dataset }) => [
    ['dataset', dataset],
    ['config', config],
  ],
  started: (settings, { hashes, resolve }) => ({
    ...(settings.mode === 'latency' ? { metric: llm.REQUEST_LATENCY } : {}),
    // Expert parallelism reuses the ranks of tensor parallelism.
    gpus: Number(settings.tp ?? 1) * Number(settings.pp ?? 1),
    identity: {
      mode: settings.mode,
      checkpoint: settings.model,
      backend: settings.backend ?? 'pytorch',
      dataset: hashes['dataset'],
      streaming: setting.isStreaming(settings) ? '' : undefined,
      ...Object.fromEntries(CELL_OPTIONS.map(([name]) => [name, settings[name]])),
      config: hashes['config'],
    },
    run: runOf(settings, resolve),
  }),
  expected: (settings) => (settings.mode === 'latency' || setting.isStreaming(settings) ? ['ttftMean'] : []),
  stated: ({ concurrency, mode, warmup }) => ({
    inFlight: concurrency === undefined ? (mode === 'latency' ? 1 : undefined) : Number(concurrency),
    warmUpRuns: Number(warmup ?? 2),
  }),
  found: inJson('is it a report of trtllm-bench 1.2?', /"avg_num_concurrent_requests"/, (report) => [reportOf(report)]),
});

/** Settings that are options of the subcommand and part of the cell, in the order of the command line and the cell. */
const CELL_OPTIONS = [
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
 * The command line. Source: tensorrt_llm/commands/bench.py and tensorrt_llm/bench/benchmark/{throughput,low_latency}.py
 * of NVIDIA/TensorRT-LLM 1.2.0rc3.
 */
function runOf(settings: TrtllmSettings, resolve: (path: string) => string): string[] {
  const { program = 'trtllm-bench', model, modelPath, engineDir, dataset, config } = settings;
  const path = (stated: string | undefined): string | undefined => (stated === undefined ? undefined : resolve(stated));
  return [
    ...[program].flat(),
    ...option('--model', model),
    ...option('--model_path', path(modelPath)),
    String(settings.mode),
    ...option('--dataset', path(dataset)),
    ...option('--warmup', settings.warmup),
    ...option('--backend', settings.backend ?? 'pytorch'),
    ...option('--engine_dir', path(engineDir)),
    ...(setting.isStreaming(settings) ? ['--streaming'] : []),
    ...CELL_OPTIONS.flatMap(([name, flag]) => option(flag, settings[name])),
    ...option('--extra_llm_api_options', path(config)),
    ...(settings.extraArgs ?? []),
    ...option('--report_json', '{runFolder}/report.json'),
  ];
}

const LATENCY = 'performance.request_latency_percentiles_ms';
const TIMES = {
  requestLatency: { mean: 'performance.avg_request_latency_ms', percentiles: LATENCY },
  ttft: { mean: 'streaming_metrics.avg_ttft_ms', percentiles: 'streaming_metrics.ttft_percentiles' },
  tpot: { mean: 'streaming_metrics.avg_tpot_ms', percentiles: 'streaming_metrics.tpot_percentiles' },
};
const TOKENS_PER_S = {
  outputThroughput: 'performance.system_output_throughput_tok_s',
  totalThroughput: 'performance.system_total_throughput_tok_s',
  outputThroughputPerUser: 'performance.output_throughput_per_user_tok_s',
  outputThroughputPerGpu: 'performance.output_throughput_per_gpu_tok_s',
  generationThroughputPerUser: 'streaming_metrics.token_output_speed_tok_s',
};

/**
 * The file of `--report_json`, in milliseconds. It has request sizes but no mode, concurrency or data set, so the sizes
 * name the cell. Source: `ReportUtility.get_statistics_dict` in tensorrt_llm/bench/dataclasses/reporting.py of
 * NVIDIA/TensorRT-LLM 1.2.0rc3 (commit 0249976).
 */
function reportOf(report: JsonReport): FoundReport {
  const { at, number, text } = report;
  const backend = text('engine.backend').toLowerCase();
  const parallel = (['tp', 'pp'] as const).map((name) => [name, at(`world_info.${name}_size`) ?? 1] as const);
  return {
    harnessVersion: text('engine.version'),
    timedRuns: number('request_info.num_requests'),
    latencyMs: llm.latencyOf(report, LATENCY, ['minimum', 'maximum', 'average']),
    values: llm.valuesOf(report, 'performance.request_throughput_req_s', TIMES, TOKENS_PER_S),
    stated: {
      model: text('engine.model'),
      precision: precisionOf(text('engine.dtype'), at('engine.quantization')),
      identity: {
        // `TRT`, or `Pytorch` for the other two backends.
        backend: backend === 'trt' ? 'tensorrt' : backend,
        requests: String(number('request_info.num_requests')),
        inputTokens: number('request_info.avg_input_length').toFixed(0),
        outputTokens: number('request_info.avg_output_length').toFixed(0),
        ...(at('streaming_metrics') === undefined ? {} : { streaming: '' }),
        ...Object.fromEntries(parallel.flatMap(([name, size]) => (size === 1 ? [] : [[name, String(size)]]))),
      },
    },
  };
}

const PRECISION_OF_TYPE: Readonly<Record<string, string>> = { float32: 'fp32', float16: 'fp16', bfloat16: 'bf16' };

/** Null for a quantization unknown to bench. */
function precisionOf(dtype: string, quantization: unknown): string | null {
  if (quantization === 'FP8') return 'fp8';
  return quantization === null || quantization === undefined ? (PRECISION_OF_TYPE[dtype] ?? null) : null;
}
