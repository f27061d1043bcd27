import type { Environment } from '../../records/environment.ts';
import type { DerivedValues, QueryTimes } from '../run-facts.ts';
import type { RunTelemetry } from '../../records/telemetry.ts';
import type { TrtexecRun } from '../log/parsed-log.ts';

export interface FitnessFacts {
  readonly log: TrtexecRun;
  readonly derived: DerivedValues;
  readonly times: QueryTimes | null;
  readonly telemetry: RunTelemetry | null;
  /** What was known of the machine besidesss the log; empty when nobody looked. */
  readonly machine: Partial<Environment>;
}

/** The GPU compute times of a run's queries, in milliseconds. */
export interface ComputeTimes {
  readonly inOrder: Float64Array;
  readonly sorted: Float64Array;
  readonly medianMs: number;
  /** The 10 % quantile: the time of an undisturbed query. */
  readonly fastMs: number;
  readonly meanMs: number;
}

/** Too few queries have no meaningful distribution. */
const LEAST_QUERIES = 30;

/** Null without exported times, or with too few of them. */
export function computeTimesOf(times: QueryTimes | null): ComputeTimes | null {
  const inOrder = times?.columns.computeMs;
  if (inOrder === undefined || inOrder.length < LEAST_QUERIES) return null;
  const sorted = inOrder.toSorted();
  const medianMs = at(sorted, 0.5);
  const fastMs = at(sorted, 0.1);
  if (!(fastMs > 0)) return null;
  let sum = 0;
  for (const value of inOrder) sum += value;
  return { inOrder, sorted, medianMs, fastMs, meanMs: sum / inOrder.length };
}

/** The value below which this share of the values is. */
export function at(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** Queries of several streams overlap on the GPU: they affect each other like another process would. */
export function hasOneStream({ log }: FitnessFacts): boolean {
  return log.options.streams === null || log.options.streams === 1;
}

export function percent(share: number): string {
  const value = share * 100;
  return `${value.toFixed(Math.abs(value) < 10 ? 1 : 0)} %`;
}

export function shortMs(value: number): string {
  return String(Number(value.toPrecision(3)));
}
