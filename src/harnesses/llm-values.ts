import * as z from 'zod';

import { orAxis } from './driver.ts';
import type { HarnessValue } from '../records/harness.ts';
import type { TimeStatistics } from '../records/measurement.ts';
import { customMetric } from '../records/metric.ts';

/** Metrics of language model harnesses. One name has the same meaning in all of them. */
export const OUTPUT_THROUGHPUT = customMetric('outputThroughput', 'higher', 'tok/s');
export const REQUEST_THROUGHPUT = customMetric('requestThroughput', 'higher', 'req/s');
export const REQUEST_LATENCY = customMetric('requestLatencyMean', 'lower', 'ms');
export const TTFT = customMetric('ttftMean', 'lower', 'ms');

/** Whether tokens are sent as they are generated. */
export const streamingSetting = orAxis(z.union([z.boolean(), z.enum(['on', 'off'])]));

export function isStreaming({ streaming }: { readonly streaming?: boolean | string | undefined }): boolean {
  return streaming === true || streaming === 'on';
}

/** Statistics of one time, in milliseconds. */
interface Times {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
}

const number = z.number();

/** Percentiles in reports of language model harnesses. */
export const PERCENTILES = { p50: number, p90: number, p95: number, p99: number } as const;

/**
 * Numbers of a report. Omits those that it lacks.
 * @param timesMs mean and percentiles become separate metrics: `ttftMean`, `ttftP50`, … `ttftP99`
 */
export function llmValues(
  requestsPerS: number,
  timesMs: Readonly<Record<string, Times | undefined>>,
  tokensPerS: Readonly<Record<string, number | undefined>>,
): HarnessValue[] {
  return [
    { metric: REQUEST_THROUGHPUT, value: requestsPerS },
    ...Object.entries(tokensPerS).flatMap(([name, value]) =>
      value === undefined ? [] : [{ metric: customMetric(name, 'higher', 'tok/s'), value }],
    ),
    ...Object.entries(timesMs).flatMap(([name, times]) =>
      Object.entries(
        times === undefined ? {} : { Mean: times.mean, P50: times.p50, P90: times.p90, P95: times.p95, P99: times.p99 },
      ).map(([suffix, value]) => ({ metric: customMetric(`${name}${suffix}`, 'lower', 'ms'), value })),
    ),
  ];
}

export function latencyOf(times: Times & { readonly min: number; readonly max: number }) {
  const { min, max, mean, p50, p90, p95, p99 } = times;
  return { min, max, mean, median: p50, percentiles: { '90': p90, '95': p95, '99': p99 } } satisfies TimeStatistics;
}
