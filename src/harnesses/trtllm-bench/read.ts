import type { HarnessReading, HarnessResult } from '../../records/harness.ts';
import type { HarnessFiles } from '../driver.ts';
import { readReport } from '../json-report.ts';
import {
  latencyOf,
  OUTPUT_THROUGHPUT,
  REQUEST_LATENCY,
  REQUEST_THROUGHPUT,
  timesInMs,
  tokenRate,
} from '../llm-values.ts';
import { isStreaming, REPORT_NAME } from './args.ts';
import { type TrtllmReport, trtllmReport, type TrtllmStatistics } from './report.ts';
import type { TrtllmSettings } from './settings.ts';

export const HARNESS_NAME = 'trtllm-bench';
export const DOUBT = 'is it a report of trtllm-bench 1.2?';
/** Of `--warmup` where nobody states it. */
const DEFAULT_WARM_UP = 2;

/** The numbers of the report that a run left. */
export function readTrtllm(settings: TrtllmSettings, files: HarnessFiles): HarnessResult {
  const checked = readReport(trtllmReport, files, REPORT_NAME, DOUBT);
  if (checked.kind === 'faulty') return checked;
  const isLatency = settings.mode === 'latency';
  const hasStreamed = checked.data.streaming_metrics !== undefined;
  if (!hasStreamed && (isLatency || isStreaming(settings))) {
    return { kind: 'faulty', problem: `${REPORT_NAME}: no field streaming_metrics: ${DOUBT}` };
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

/** What of a report becomes metrics. */
export function readingOf(
  report: TrtllmReport,
  how: { readonly inFlight: number | null; readonly warmUpRuns: number | null },
): HarnessReading {
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
