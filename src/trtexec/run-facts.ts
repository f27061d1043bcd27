import * as z from 'zod';
import type { EngineLayer, LayerProfile } from '../records/layer-info.ts';
import { shapesSchema } from '../records/cell.ts';
import type { Immutable } from '../records/scalars.ts';
import type { ProcessResult } from '../process/spawn.ts';

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
export type ProcessFacts = Omit<ProcessResult, 'startProblem' | 'startedAt' | 'wallS'>;

/** The names under which bench asks for the exports of a run. */
export const USUAL_NAMES = {
  '--exportTimes': 'times.json',
  '--exportProfile': 'profile.json',
  '--exportLayerInfo': 'layers.json',
} as const;

export interface ExportProblem {
  /** The flag that requested the file, such as `--exportTimes`. */
  readonly flag: string;
  readonly problem: string;
}

export interface RunExports {
  readonly times: QueryTimes | null;
  readonly profile: LayerProfile | null;
  readonly layerInfo: readonly EngineLayer[] | null;
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
