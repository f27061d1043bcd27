import * as z from 'zod';
import type { HarnessReading, HarnessResult, Method } from '../../records/harness.ts';
import { isRecord } from '../../text/unknown-values.ts';
import { faulty, type HarnessFiles, type StandaloneReport, NOTHING_STATED } from '../driver.ts';
import { checkReport, parsedJson, readReport } from '../json-report.ts';
import {
  isStreaming,
  latencyOf,
  OUTPUT_THROUGHPUT,
  REQUEST_LATENCY,
  REQUEST_THROUGHPUT,
  timesInMs,
  tokenRate,
} from '../llm-values.ts';
import { REPORT_NAME, type TrtllmSettings } from './settings.ts';

/** TensorRT-LLM keeps nanoseconds but reports milliseconds: `PercentileStats` of statistics.py. */
const number = z.number();
const statistics = z.object({
  minimum: number,
  maximum: number,
  average: number,
  p50: number,
  p90: number,
  p95: number,
  p99: number,
});

/**
 * The file of `--report_json`: `ReportUtility.get_statistics_dict` in tensorrt_llm/bench/dataclasses/reporting.py of
 * NVIDIA/TensorRT-LLM 1.2.0rc3 (commit 0249976). Unused fields are left out, those added later are optional.
 */
const trtllmReport = z.object({
  engine: z.object({
    model: z.string(),
    version: z.string(),
    /** `TRT`, or `Pytorch` for the other two. */
    backend: z.string(),
    dtype: z.string().nullish(),
    quantization: z.string().nullish(),
  }),
  world_info: z.object({
    tp_size: number.optional(),
    pp_size: number.optional(),
    ep_size: number.nullish(),
    world_size: number.optional(),
  }),
  request_info: z.object({
    num_requests: number,
    avg_num_concurrent_requests: number,
    avg_input_length: number,
    avg_output_length: number,
  }),
  performance: z.object({
    request_throughput_req_s: number,
    system_output_throughput_tok_s: number,
    system_total_throughput_tok_s: number.optional(),
    output_throughput_per_user_tok_s: number,
    output_throughput_per_gpu_tok_s: number,
    avg_request_latency_ms: number,
    request_latency_percentiles_ms: statistics,
  }),
  streaming_metrics: z
    .object({
      token_output_speed_tok_s: number,
      avg_ttft_ms: number,
      avg_tpot_ms: number,
      ttft_percentiles: statistics,
      tpot_percentiles: statistics,
    })
    .optional(),
});

type TrtllmReport = z.infer<typeof trtllmReport>;
type TrtllmStatistics = z.infer<typeof statistics>;

export const HARNESS_NAME = 'trtllm-bench';
const HINT = 'is it a report of trtllm-bench 1.2?';
const DEFAULT_WARM_UP = 2;

export function readTrtllm(settings: TrtllmSettings, files: HarnessFiles): HarnessResult {
  const checked = readReport(trtllmReport, files, REPORT_NAME, HINT);
  if (checked.kind === 'faulty') return checked;
  const isLatency = settings.mode === 'latency';
  const hasStreamed = checked.data.streaming_metrics !== undefined;
  if (!hasStreamed && (isLatency || isStreaming(settings))) {
    return faulty(`${REPORT_NAME}: no field streaming_metrics: ${HINT}`);
  }
  const { concurrency, warmup } = settings;
  return {
    kind: 'read',
    reading: readingOf(checked.data, {
      inFlight: concurrency === undefined ? (isLatency ? 1 : null) : Number(concurrency),
      warmUpRuns: Number(warmup ?? DEFAULT_WARM_UP),
    }),
  };
}

function readingOf(report: TrtllmReport, how: Pick<Method, 'inFlight' | 'warmUpRuns'>): HarnessReading {
  const { engine, performance, request_info: requests, streaming_metrics: streamed } = report;
  const latency = performance.request_latency_percentiles_ms;
  return {
    method: {
      harness: HARNESS_NAME,
      harnessVersion: engine.version,
      // time.perf_counter_ns around each request: tensorrt_llm/bench/benchmark/utils/asynchronous.py.
      timer: 'wall',
      inFlight: how.inFlight,
      // sorted[int(n * 0.99)] in PercentileStats.from_iterable: tensorrt_llm/bench/dataclasses/statistics.py.
      percentileRule: 'orderStatistic',
      transfers: true,
      warmUpRuns: how.warmUpRuns,
      timedRuns: requests.num_requests,
    },
    latencyMs: latencyOf({ ...named(latency), min: latency.minimum, max: latency.maximum }),
    values: [
      { metric: REQUEST_THROUGHPUT, value: performance.request_throughput_req_s },
      { metric: OUTPUT_THROUGHPUT, value: performance.system_output_throughput_tok_s },
      ...tokenRate('totalThroughput', performance.system_total_throughput_tok_s),
      ...tokenRate('outputThroughputPerUser', performance.output_throughput_per_user_tok_s),
      ...tokenRate('outputThroughputPerGpu', performance.output_throughput_per_gpu_tok_s),
      { metric: REQUEST_LATENCY, value: performance.avg_request_latency_ms },
      ...timesInMs('requestLatency', named(latency)).slice(1),
      ...(streamed === undefined
        ? []
        : [
            ...timesInMs('ttft', { ...named(streamed.ttft_percentiles), mean: streamed.avg_ttft_ms }),
            ...timesInMs('tpot', { ...named(streamed.tpot_percentiles), mean: streamed.avg_tpot_ms }),
            ...tokenRate('generationThroughputPerUser', streamed.token_output_speed_tok_s),
          ]),
    ],
  };
}

function named({ average, p50, p90, p95, p99 }: TrtllmStatistics) {
  return { mean: average, p50, p90, p95, p99 };
}

/** A report has request sizes but no mode, concurrency or data set: the cell is named by the sizes. */
export function trtllmReports(text: string, fileName: string): StandaloneReport[] {
  const value = parsedJson(text);
  if (!hasBlocks(value)) return [];
  const harness = { name: HARNESS_NAME, timer: 'wall', metric: OUTPUT_THROUGHPUT } as const;
  const checked = checkReport(trtllmReport, value, fileName, HINT);
  if (checked.kind === 'faulty') return [{ ...NOTHING_STATED, harness, result: checked }];
  const report = checked.data;
  return [
    {
      ...NOTHING_STATED,
      harness,
      result: { kind: 'read', reading: readingOf(report, { inFlight: null, warmUpRuns: null }) },
      model: report.engine.model,
      precision: precisionOf(report.engine),
      identity: identityOf(report),
    },
  ];
}

/** Whole or not: then it is said which field is missing. */
function hasBlocks(value: unknown): boolean {
  return (
    isRecord(value) && ['engine', 'request_info', 'performance', 'world_info'].every((block) => isRecord(value[block]))
  );
}

function identityOf({ engine, request_info: info, streaming_metrics, world_info }: TrtllmReport) {
  const { tp_size: tp = 1, pp_size: pp = 1 } = world_info;
  return {
    backend: engine.backend.toLowerCase() === 'trt' ? 'tensorrt' : engine.backend.toLowerCase(),
    requests: String(info.num_requests),
    inputTokens: info.avg_input_length.toFixed(0),
    outputTokens: info.avg_output_length.toFixed(0),
    ...(streaming_metrics === undefined ? {} : { streaming: '' }),
    ...(tp === 1 ? {} : { tp: String(tp) }),
    ...(pp === 1 ? {} : { pp: String(pp) }),
  };
}

const PRECISION_OF_TYPE: Readonly<Record<string, string>> = { float32: 'fp32', float16: 'fp16', bfloat16: 'bf16' };

/** Null for a quantization that bench does not know. */
function precisionOf({ dtype, quantization }: TrtllmReport['engine']): string | null {
  if (quantization === 'FP8') return 'fp8';
  if (quantization !== null && quantization !== undefined) return null;
  return PRECISION_OF_TYPE[dtype ?? ''] ?? null;
}
