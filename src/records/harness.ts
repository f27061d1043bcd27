import type { TimeStatistics } from './measurement.ts';
import type { CustomMetricId, MetricId } from './metric.ts';

/** What says how long something took: the host's clock, or events that the GPU stamps. */
export const TIMERS = ['wall', 'cudaEvent', 'unknown'] as const;

export type Timer = (typeof TIMERS)[number];

/**
 * How a percentile is read off sorted times: one of them (trtexec), or between two of them (numpy's default). Tails
 * by different rules are never compared.
 */
export const PERCENTILE_RULES = ['orderStatistic', 'linear', 'unknown'] as const;

export type PercentileRule = (typeof PERCENTILE_RULES)[number];

/** What of the way of measuring is part of a cell, where that is not trtexec: another timer is another history. */
export interface CellHarness {
  readonly name: string;
  readonly timer: Timer;
  /** What the cell is judged by, where nothing else is asked for. */
  readonly metric: MetricId;
}

/** How a number was taken. Null where nobody said it. */
export interface Method {
  readonly harness: string;
  readonly harnessVersion: string | null;
  readonly timer: Timer;
  /** Queries that are under way at the same time. */
  readonly inFlight: number | null;
  readonly percentileRule: PercentileRule;
  /** Whether copies between host and GPU are in the number. */
  readonly transfers: boolean | null;
  readonly warmUpRuns: number | null;
  readonly timedRuns: number | null;
}

/** One number of a harness that is not one of bench's own metrics; its id says unit and direction. */
export interface HarnessValue {
  readonly metric: CustomMetricId;
  readonly value: number;
}

/** What a harness other than trtexec measured in one process. */
export interface HarnessReading {
  readonly method: Method;
  /** Of one query, whole batch; null when the harness prints none. */
  readonly latencyMs: TimeStatistics | null;
  readonly values: readonly HarnessValue[];
}

export type HarnessResult =
  | { readonly kind: 'read'; readonly reading: HarnessReading }
  /** One line: what is missing or wrong, and in which file. */
  | { readonly kind: 'faulty'; readonly problem: string };
