import * as z from 'zod';

import type { TimeStatistics } from './measurement.ts';
import { metricSchema, type ReadMetricId } from './metric.ts';
import { flagOrNull, type Immutable, numberOrNull, textOrNull } from './scalars.ts';

/** The timer: the clock of the host, or events that the GPU stamps. */
export const TIMERS = ['wall', 'cudaEvent', 'unknown'] as const;

export type Timer = (typeof TIMERS)[number];

/** An element of the sorted times (trtexec), or interpolated (numpy's default). The two are never compared. */
export const PERCENTILE_RULES = ['orderStatistic', 'linear', 'unknown'] as const;

export type PercentileRule = (typeof PERCENTILE_RULES)[number];

/** The part of the method that belongs to a cell of a harness other than trtexec. Another timer is another history. */
export const cellHarnessSchema = z.object({ name: z.string(), timer: z.enum(TIMERS), metric: metricSchema });

export type CellHarness = Immutable<z.infer<typeof cellHarnessSchema>>;

/** trtexec, measuring what happens once in a process; such a cell has no steady times. */
export const COLD_START: CellHarness = { name: 'cold-start', timer: 'cudaEvent', metric: 'firstInferenceMs' };

export function isColdStart({ harness }: { readonly harness?: CellHarness | null }): boolean {
  return harness?.name === COLD_START.name;
}

/** How a number was measured. Null if not stated. */
export const methodSchema = z.object({
  harness: z.string(),
  harnessVersion: textOrNull,
  timer: z.enum(TIMERS),
  inFlight: numberOrNull.describe('Queries under way at the same time'),
  percentileRule: z.enum(PERCENTILE_RULES),
  /** Whether copies between host and GPU are included. */
  transfers: flagOrNull,
  warmUpRuns: z.number().int().nullable(),
  timedRuns: z.number().int().nullable(),
});

export type Method = Immutable<z.infer<typeof methodSchema>>;

/** A metric that bench does not define. Its ID contains unit and direction. */
export interface HarnessValue {
  readonly metric: ReadMetricId;
  readonly value: number;
}

export interface HarnessReading {
  readonly method: Method;
  /** Latency of one query with the whole batch; null if the harness prints none. */
  readonly latencyMs: TimeStatistics | null;
  readonly values: readonly HarnessValue[];
}

export type HarnessResult =
  | { readonly kind: 'read'; readonly reading: HarnessReading }
  /** One line with the missing or wrong thing and its file. */
  | { readonly kind: 'faulty'; readonly problem: string };
