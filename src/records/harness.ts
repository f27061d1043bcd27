import * as z from 'zod';

import { type ReadMetricId, isCustomMetric, metricSchema } from './metric.ts';
import { type Immutable, flagOrNull, numberOrNull, textOrNull } from './scalars.ts';

export const NO_METRIC = 'no metric: use customMetric(name, better, unit)';

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

/** Percentiles in the form of trtexec: `{"99": 0.4175, "99.9": 0.4179}`. */
export const percentilesSchema = z.record(z.string(), z.number()).describe('By percentile: {"99": 0.4175}');

export const timeStatisticsSchema = z
  .object({
    min: z.number(),
    max: z.number(),
    /** Absent from the enqueue block of TensorRT 7. */
    mean: numberOrNull,
    median: z.number(),
    percentiles: percentilesSchema,
  })
  .describe('Milliseconds');

export type TimeStatistics = Immutable<z.infer<typeof timeStatisticsSchema>>;

const harnessReadingSchema = z.object({
  method: methodSchema,
  /** Latency of one query with the whole batch; null if the harness prints none. */
  latencyMs: timeStatisticsSchema.nullable(),
  /** Metrics that bench does not define. Their IDs contain unit and direction. */
  values: z.array(
    z.object({
      metric: z.string().refine((id): id is ReadMetricId => isCustomMetric(id), NO_METRIC),
      value: z.number(),
    }),
  ),
});

export const harnessResultSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('read'), reading: harnessReadingSchema }),
  /** One line with the missing or wrong thing and its file. */
  z.object({ kind: z.literal('faulty'), problem: z.string() }),
]);

export type HarnessReading = Immutable<z.infer<typeof harnessReadingSchema>>;
export type HarnessValue = HarnessReading['values'][number];
export type HarnessResult = Immutable<z.infer<typeof harnessResultSchema>>;

/** Statistics of a block with missing lines; null for a number that was not printed. */
export type PartialStatistics = { readonly [Name in keyof TimeStatistics]: TimeStatistics[Name] | null } & {
  readonly percentiles: TimeStatistics['percentiles'];
};

/** The numbers of an incomplete summary, which is not a measurement. */
export type Excerpt = Readonly<Record<TimedMetric, PartialStatistics | null>> & {
  readonly [Total in 'throughputQps' | 'hostWalltimeS' | 'gpuTotalS']: number | null;
};

/** A query is one execution of the whole batch, as in trtexec. Multiply by the batch for items/s. */
export interface Measurement {
  readonly throughputQps: number;
  /** H2D + GPU compute + D2H of the same query, without waiting for the previous one. */
  readonly latencyMs: TimeStatistics;
  /** Host time of one enqueue (or one graph launch). Not printed by TensorRT 7.0. */
  readonly enqueueMs: TimeStatistics | null;
  /** Null if data transfers were off, for which trtexec prints zeros. */
  readonly h2dMs: TimeStatistics | null;
  readonly gpuComputeMs: TimeStatistics;
  readonly d2hMs: TimeStatistics | null;
  readonly hostWalltimeS: number;
  /** Mean GPU compute time multiplied by the number of queries; not a measured sum. */
  readonly gpuTotalS: number | null;
}

export const TIMED_METRICS = ['latencyMs', 'enqueueMs', 'h2dMs', 'gpuComputeMs', 'd2hMs'] as const;

export type TimedMetric = (typeof TIMED_METRICS)[number];
