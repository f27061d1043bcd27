import * as z from 'zod';
import type { LayerInfo, LayerProfile } from '../records/layer-info.ts';
import type { BoundBy } from '../records/bound.ts';
import { shapesSchema } from '../records/cell.ts';
import type { HarnessReading } from '../records/harness.ts';
import type { Outcome } from '../records/outcome.ts';
import type { RunFlag } from '../records/run-flag.ts';
import type { Immutable } from '../records/scalars.ts';
import type { RunTelemetry } from '../records/telemetry.ts';
import type { TimeLimit } from '../records/time-limit.ts';
import type { TrtexecRun } from './log/run-builder.ts';

/** Columns of `--exportTimes` under the names that trtexec has used since 8.0; all in milliseconds. */
export const QUERY_TIME_COLUMNS = [
  'startEnqMs',
  'endEnqMs',
  'startH2dMs',
  'endH2dMs',
  'startComputeMs',
  'endComputeMs',
  'startD2hMs',
  'endD2hMs',
  'h2dMs',
  'computeMs',
  'd2hMs',
  'latencyMs',
] as const;

export type QueryTimeColumn = (typeof QUERY_TIME_COLUMNS)[number];

/**
 * The times of each query of one run, in the order of the file. Each column has `count` entries; a column that the file
 * lacks is absent. Start and end stamps have only six significant digits, so take durations from `computeMs` and
 * `latencyMs`, never from differences of stamps.
 */
export interface QueryTimes {
  readonly count: number;
  readonly columns: Readonly<Partial<Record<QueryTimeColumn, Float64Array>>>;
}

/** How a process ended according to the operating system. Null if unknown (a bare log). */
export interface ProcessFacts {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  /** The limit that ended it; null if none did, or not recorded. */
  readonly limit: TimeLimit | null;
  /** True if bench itself ended it, on Ctrl-C. */
  readonly cancelled: boolean;
  /** True if bench ended it because its log grew beyond 1 GiB. */
  readonly logTooLong: boolean;
  /** How its neighbor ended, if it ended first. */
  readonly neighborEnded?: string | null;
}

export interface ExportProblem {
  /** The flag that requested the file, such as `--exportTimes`. */
  readonly flag: string;
  readonly problem: string;
}

export interface RunExports {
  readonly times: QueryTimes | null;
  readonly profile: LayerProfile | null;
  readonly layerInfo: LayerInfo | null;
  readonly missing: readonly ExportProblem[];
  /** Files left out of this copy on purpose, which is no fault of the run. */
  readonly omitted: readonly string[];
  /** Size of the file named by `--saveEngine`; null if not requested or not checked. */
  readonly engineBytes: number | null;
}

export const NO_EXPORTS: RunExports = {
  times: null,
  profile: null,
  layerInfo: null,
  missing: [],
  omitted: [],
  engineBytes: null,
};

/** The plan's settings for a run; only those set here are checked against the banner. */
export const requestedSchema = z.object({
  cudaGraph: z.boolean().exactOptional(),
  dataTransfers: z.boolean().exactOptional(),
  spinWait: z.boolean().exactOptional(),
  streams: z.number().int().exactOptional(),
  shapes: shapesSchema.exactOptional(),
  /** A word that the `Precision:` line of the banner must contain, such as `FP16`. */
  precisionWord: z.string().exactOptional(),
});

export type RequestedOptions = Immutable<z.infer<typeof requestedSchema>>;

export interface FitnessLimits {
  readonly minQueries: number;
  readonly minWarmUpQueries: number;
}

export const DEFAULT_FITNESS_LIMITS: FitnessLimits = { minQueries: 30, minWarmUpQueries: 10 };

export type EnqueueClass = 'free' | 'near' | 'bound';

/** trtexec gives its own hint from a ratio of 0.8 on. */
export function enqueueClass(ratio: number): EnqueueClass {
  if (ratio > 0.8) return 'bound';
  return ratio >= 0.5 ? 'near' : 'free';
}

/** Values derived from the output; null if the numbers they need were not printed. */
export interface DerivedValues {
  readonly queries: number | null;
  /** Standard deviation (population) over mean of the GPU compute times, in percent. */
  readonly cvPercent: number | null;
  /** Median enqueue time over median GPU compute time. */
  readonly enqueueRatio: number | null;
  readonly enqueueClass: EnqueueClass | null;
  /** Share of the wall time in which the GPU computes. Only for one stream, because streams overlap. */
  readonly gpuBusy: number | null;
  /** Time between the ends of two queries minus the mean GPU compute time. Only for one stream. */
  readonly idleGapMs: number | null;
  /** The direction whose copies take longer than the GPU computes, by the medians: the bus is the bottleneck. */
  readonly transferBound: 'h2d' | 'd2h' | null;
  /** Throughput times the batch; null if the inputs share no leading dimension. */
  readonly itemsPerS: number | null;
  /** What limits the throughput; null until its flags are known. */
  readonly boundBy: BoundBy | null;
  /** Robust centers of the run's own samples, for comparisons. */
  readonly gpuComputeCentreMs: number | null;
  readonly latencyCentreMs: number | null;
}

export interface ParsedRun {
  readonly path: string;
  readonly log: TrtexecRun;
  /** Null for trtexec. */
  readonly harness: HarnessReading | null;
  readonly exports: RunExports;
  readonly derived: DerivedValues;
  readonly flags: readonly RunFlag[];
  /** Null if nobody watched the machine during the run. */
  readonly telemetry: RunTelemetry | null;
  readonly outcome: Outcome;
  readonly notes: readonly string[];
}
