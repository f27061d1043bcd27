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

/** Requested settings as parts of a cell; unset ones are omitted. */
export function statedIdentity(
  requested: Readonly<Record<string, string | number | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(requested).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}

/** Arguments unknown to bench, as parts of a cell: `['--tp', '2', '--quiet']` as `--tp=2` and `--quiet`. */
export function identityOfArgs(args: readonly string[]): Record<string, string> {
  const identity: Record<string, string> = {};
  let last: string | null = null;
  for (const arg of args) {
    if (arg.startsWith('-') && !/^-\d/.test(arg)) {
      const [, name = arg, value = ''] = /^([^=]+)=(.*)$/.exec(arg) ?? [];
      identity[name] = value;
      last = name;
    } else if (last !== null) {
      identity[last] = identity[last] === '' ? arg : `${identity[last]} ${arg}`;
    } else {
      identity[arg] = '';
    }
  }
  return identity;
}

/** Of these arguments the first that is there; a value may be joined to it. */
export function firstOf(args: readonly string[], refused: readonly string[]): string | null {
  return args.map((arg) => arg.replace(/=.*$/, '')).find((arg) => refused.includes(arg)) ?? null;
}

/** This many digits of a hash tell the files of one project apart. */
const HASH_DIGITS = 12;

/** As part of a cell a file counts by content, not by path. */
export function shortHash(sha256: string): string {
  return sha256.slice(0, HASH_DIGITS);
}
