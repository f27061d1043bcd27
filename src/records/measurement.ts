import * as z from 'zod';

import { type Immutable, numberOrNull } from './scalars.ts';

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
