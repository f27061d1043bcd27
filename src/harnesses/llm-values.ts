import * as z from 'zod';

import { orAxis } from './driver.ts';
import type { HarnessValue } from '../records/harness.ts';
import type { TimeStatistics } from '../records/measurement.ts';
import { customMetric } from '../records/metric.ts';

/** Metrics of language model harnesses; one name has one meaning in all of them. */
export const OUTPUT_THROUGHPUT = customMetric('outputThroughput', 'higher', 'tok/s');
export const REQUEST_THROUGHPUT = customMetric('requestThroughput', 'higher', 'req/s');
export const REQUEST_LATENCY = customMetric('requestLatencyMean', 'lower', 'ms');
export const TTFT = customMetric('ttftMean', 'lower', 'ms');

/** Whether tokens are sent as they come. */
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

/** Mean and percentiles as separate metrics: `ttftMean`, `ttftP50`, … `ttftP99`. */
export function timesInMs(name: string, { mean, p50, p90, p95, p99 }: Times): HarnessValue[] {
  return Object.entries({ Mean: mean, P50: p50, P90: p90, P95: p95, P99: p99 }).map(([suffix, value]) => ({
    metric: customMetric(`${name}${suffix}`, 'lower', 'ms'),
    value,
  }));
}

export function tokenRate(name: string, value: number | undefined): HarnessValue[] {
  return value === undefined ? [] : [{ metric: customMetric(name, 'higher', 'tok/s'), value }];
}

export function latencyOf(times: Times & { readonly min: number; readonly max: number }) {
  const { min, max, mean, p50, p90, p95, p99 } = times;
  return { min, max, mean, median: p50, percentiles: { '90': p90, '95': p95, '99': p99 } } satisfies TimeStatistics;
}
