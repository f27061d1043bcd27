import type { HarnessValue } from '../records/harness.ts';
import type { TimeStatistics } from '../records/measurement.ts';
import { customMetric } from '../records/metric.ts';

/** What harnesses of language models measure; the same name has the same meaning in each of them. */
export const OUTPUT_THROUGHPUT = customMetric('outputThroughput', 'higher', 'tok/s');
export const REQUEST_THROUGHPUT = customMetric('requestThroughput', 'higher', 'req/s');
export const REQUEST_LATENCY = customMetric('requestLatencyMean', 'lower', 'ms');
export const TTFT = customMetric('ttftMean', 'lower', 'ms');

/** Statistics of one kind of time, in milliseconds. */
interface Times {
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
}

/** Mean and percentiles as metrics of their own: `ttftMean`, `ttftP50`, … `ttftP99`. */
export function timesInMs(name: string, times: Times): HarnessValue[] {
  const of = (suffix: string, value: number): HarnessValue => ({
    metric: customMetric(`${name}${suffix}`, 'lower', 'ms'),
    value,
  });
  return [
    of('Mean', times.mean),
    of('P50', times.p50),
    of('P90', times.p90),
    of('P95', times.p95),
    of('P99', times.p99),
  ];
}

/** A rate of tokens; none where the report has not got it. */
export function tokenRate(name: string, value: number | undefined): HarnessValue[] {
  return value === undefined ? [] : [{ metric: customMetric(name, 'higher', 'tok/s'), value }];
}

export function latencyOf(times: Times & { readonly min: number; readonly max: number }) {
  const { min, max, mean, p50, p90, p95, p99 } = times;
  return { min, max, mean, median: p50, percentiles: { '90': p90, '95': p95, '99': p99 } } satisfies TimeStatistics;
}

/** What was asked for, as parts of a cell; what nobody stated is none. */
export function statedIdentity(asked: Readonly<Record<string, string | number | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(asked).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}
