import * as z from 'zod';

import type { TimeStatistics } from './measurement.ts';
import { type CustomMetricId, metricSchema } from './metric.ts';
import { flagOrNull, type Immutable, numberOrNull, textOrNull } from './scalars.ts';

/** What says how long something took: the host's clock, or events that the GPU stamps. */
export const TIMERS = ['wall', 'cudaEvent', 'unknown'] as const;

export type Timer = (typeof TIMERS)[number];

/**
 * How a percentile is read off sorted times: one of them (trtexec), or between two of them (numpy's default). Tails
 * by different rules are never compared.
 */
export const PERCENTILE_RULES = ['orderStatistic', 'linear', 'unknown'] as const;

export type PercentileRule = (typeof PERCENTILE_RULES)[number];

/** The part of the method that belongs to a cell, where that is not trtexec: another timer is another history. */
export const cellHarnessSchema = z.object({
  name: z.string(),
  timer: z.enum(TIMERS),
  /** What the cell is judged by, where nothing else is asked for. */
  metric: metricSchema,
});

export type CellHarness = Immutable<z.infer<typeof cellHarnessSchema>>;

/** How a number was taken. Null where nobody said it. */
export const methodSchema = z.object({
  harness: z.string(),
  harnessVersion: textOrNull,
  timer: z.enum(TIMERS),
  inFlight: numberOrNull.describe('Queries under way at the same time'),
  percentileRule: z.enum(PERCENTILE_RULES),
  /** Whether copies between host and GPU are in the number. */
  transfers: flagOrNull,
  warmUpRuns: z.number().int().nullable(),
  timedRuns: z.number().int().nullable(),
});

export type Method = Immutable<z.infer<typeof methodSchema>>;

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
