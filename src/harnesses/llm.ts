import type { HarnessValue } from '../records/harness.ts';
import { customMetric } from '../records/metric.ts';
import type { JsonReport } from './define-harness.ts';

/** Metrics of language model harnesses. One name has the same meaning in all of them. */
export const OUTPUT_THROUGHPUT = customMetric('outputThroughput', 'higher', 'tok/s');
export const REQUEST_THROUGHPUT = customMetric('requestThroughput', 'higher', 'req/s');
export const REQUEST_LATENCY = customMetric('requestLatencyMean', 'lower', 'ms');
export const TTFT = customMetric('ttftMean', 'lower', 'ms');

const PERCENTILES = ['p50', 'p90', 'p95', 'p99'] as const;

/** Where a report has the mean of a time; percentiles are next to it, or under `percentiles`. In milliseconds. */
type TimePaths = Readonly<Record<'mean' | 'percentiles', string>>;

/**
 * Numbers of a report of requests. Omits those that it lacks.
 * @param times mean and percentiles become separate metrics: `ttftMean`, `ttftP50`, … `ttftP99`
 * @param tokensPerS paths of throughputs
 */
export function valuesOf(
  { at, number }: JsonReport,
  requestsPerS: string,
  times: Readonly<Record<string, TimePaths>>,
  tokensPerS: Readonly<Record<string, string>>,
): HarnessValue[] {
  return [
    { metric: REQUEST_THROUGHPUT, value: number(requestsPerS) },
    ...Object.entries(tokensPerS).flatMap(([name, path]) =>
      at(path) === undefined ? [] : [{ metric: customMetric(name, 'higher', 'tok/s'), value: number(path) }],
    ),
    ...Object.entries(times)
      .filter(([, { mean }]) => at(mean) !== undefined)
      .flatMap(([name, { mean, percentiles }]) => {
        const ms = (suffix: string, path: string) => {
          return { metric: customMetric(`${name}${suffix}`, 'lower', 'ms'), value: number(path) };
        };
        return [ms('Mean', mean), ...PERCENTILES.map((of) => ms(of.toUpperCase(), `${percentiles}.${of}`))];
      }),
  ];
}

/** @param names of the fields of the smallest and the largest time */
export function latencyOf({ number }: JsonReport, path: string, [min, max, mean]: readonly [string, string, string]) {
  const field = (name: string): number => number(`${path}.${name}`);
  const percentiles = { '90': field('p90'), '95': field('p95'), '99': field('p99') };
  return { min: field(min), max: field(max), mean: field(mean), median: field('p50'), percentiles };
}
