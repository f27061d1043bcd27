import { NOT_WATCHED, summariseTelemetry } from '../../src/tools/nvidia-smi/gpu-samples.ts';
import type { RunTelemetry } from '../../src/records/telemetry.ts';
import type { QueryTimes } from '../../src/trtexec/run-facts.ts';
import type { FitnessFacts } from '../../src/trtexec/fitness/facts.ts';
import { derive } from '../../src/trtexec/log/derived.ts';
import { onlyRun } from './recordings.ts';

/** Watched, and nothing seen. */
export const NO_TELEMETRY: RunTelemetry = { ...summariseTelemetry([], NOT_WATCHED), samples: 20 };

interface Summary {
  readonly throughputQps?: number;
  readonly computeMs?: number;
  readonly enqueueMs?: number;
  readonly options?: readonly string[];
}

/** A log with this summary. Made up. */
export function syntheticLog({
  throughputQps = 990,
  computeMs = 1,
  enqueueMs = 0.002,
  options = ['Inference Streams: 1', 'Spin-wait: Enabled', 'CUDA Graph: Enabled'],
}: Summary = {}): string {
  const marker = 'TensorRT.trtexec [TensorRT v100600] # trtexec --loadEngine=a.engine';
  const statistics = (ms: number): string =>
    `min = ${ms} ms, max = ${ms} ms, mean = ${ms} ms, median = ${ms} ms, percentile(99%) = ${ms} ms`;
  return [
    '&&&& RUNNING ' + marker,
    '=== Inference Options ===',
    ...options,
    '',
    'Warmup completed 200 queries over 200 ms',
    `Timing trace has ${throughputQps} queries over 1 s`,
    '=== Performance summary ===',
    `Throughput: ${throughputQps} qps`,
    `Latency: ${statistics(computeMs)}`,
    `Enqueue Time: ${statistics(enqueueMs)}`,
    `H2D Latency: ${statistics(0)}`,
    `GPU Compute Time: ${statistics(computeMs)}`,
    `D2H Latency: ${statistics(0)}`,
    'Total Host Walltime: 1 s',
    `Total GPU Compute Time: ${(throughputQps * computeMs) / 1000} s`,
    '&&&& PASSED ' + marker,
  ]
    .map((line) => (line.startsWith('&&&&') ? line : `[11/21/2026-07:33:53] [I] ${line}`))
    .join('\n');
}

/** Queries back to back but for what is said. Made up. */
export function queriesOf(computeMs: readonly number[], gapsMs: readonly number[] = []): QueryTimes {
  const starts: number[] = [];
  let now = 200;
  for (const [query, ms] of computeMs.entries()) {
    starts.push(now);
    now += ms + (gapsMs[query] ?? 0);
  }
  return {
    count: computeMs.length,
    columns: {
      startComputeMs: Float64Array.from(starts),
      endComputeMs: Float64Array.from(starts, (start, query) => start + (computeMs[query] ?? 0)),
      computeMs: Float64Array.from(computeMs),
      latencyMs: Float64Array.from(computeMs),
    },
  };
}

export function factsOf(log: string, times: QueryTimes | null = null, more: Partial<FitnessFacts> = {}): FitnessFacts {
  const run = onlyRun(log);
  return { log: run, derived: derive(run, times), times, telemetry: null, machine: {}, ...more };
}
