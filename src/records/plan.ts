import * as z from 'zod';

import { cellSchema, PRECISIONS, shapesSchema } from './cell.ts';
import { CONVERTERS } from './conversion.ts';
import { MATRIX_DEFAULTS } from './matrix-defaults.ts';
import { requestedSchema } from '../trtexec/run-facts.ts';
import { RUN_MARKS } from './outcome.ts';
import { type Immutable, textOrNull } from './scalars.ts';
import { NO_PHASE_LIMITS, phaseLimitsSchema } from './time-limit.ts';

/** Paths known only when a run starts. `{engine}` and others are replaced per argument, never in a joined string. */
export const PLACEHOLDERS = {
  engine: '{engine}',
  timingCache: '{timingCache}',
  runFolder: '{runFolder}',
  variant: '{variant}',
} as const;

/** Used as the version if trtexec measures no cell. */
export const NO_TENSORRT = 'none';

const texts = z.array(z.string());
/** Null removes a variable. */
const variables = z.record(z.string(), textOrNull);
const notes = texts.default([]);

const calibrationSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('random'),
    seed: z.number(),
    samples: z.number(),
    /** Shapes of one step. A missing input has its static shape from the model. */
    shapes: shapesSchema,
  }),
  z.object({ kind: z.literal('file'), path: z.string(), shapes: shapesSchema }),
]);

export type PlannedCalibration = Immutable<z.infer<typeof calibrationSchema>>;

export const variantSchema = z.object({
  /** Identifies a variant within one plan; contains no content hash. */
  variantRef: z.string(),
  label: z.string(),
  by: z.enum(CONVERTERS),
  precision: z.enum(PRECISIONS),
  onnxPath: z.string(),
  opTypes: texts,
  /** Null without calibration. */
  calibration: calibrationSchema.nullable(),
  /** Arguments after the interpreter. Its files are in the folder in which it starts. */
  args: texts,
  timeoutS: z.number(),
});

export type PlannedVariant = Immutable<z.infer<typeof variantSchema>>;

const harnessSchema = z.object({
  driver: z.string(),
  /** Settings for that driver, with the axes filled in. */
  settings: z.unknown(),
  argv: texts,
  /** Null for the run folder. */
  cwd: textOrNull,
  /** Merged into the environment of bench. */
  env: variables,
  resultFiles: texts,
  /** Number of GPUs used together. Default: 1. */
  gpus: z.number().int().min(1).exactOptional(),
});

export type PlannedHarness = Immutable<z.infer<typeof harnessSchema>>;

/** Limits of the parts of a process. `wholeS` is the limit for all of them together, if there is one. */
const limitsSchema = phaseLimitsSchema.extend({ wholeS: z.number().nullable() });

export type PlannedLimits = Immutable<z.infer<typeof limitsSchema>>;

/** Plans of older versions have only a limit for the whole process. */
const limits = limitsSchema.default({ ...NO_PHASE_LIMITS, wholeS: null });

export const buildSchema = z.object({
  /** The variant to build from; null if the model is built unchanged. */
  variantRef: textOrNull.default(null),
  /** Identifies an engine within one plan, without the machine and the content of the model. */
  buildRef: z.string(),
  model: z.string(),
  precision: z.string().default('unstated'),
  label: z.string(),
  /** Number of one of several builds of the same engine, from 1: `builds:` measures how much they differ. */
  number: z.number().default(1),
  of: z.number().default(1),
  /** The engine is kept, even if anything else changes. */
  isFrozen: z.boolean().default(false),
  /** A timing cache of the user; null for those next to the store, or for none. */
  timingCachePath: textOrNull.default(null),
  /** True to use it even if it was made on another GPU. */
  forcesTimingCache: z.boolean().default(false),
  /** Null if the engine was given, so that nothing is built. */
  onnxPath: textOrNull,
  enginePath: textOrNull,
  /** Options that determine the engine, without paths. */
  flags: texts,
  /** Arguments after the name of the program, with placeholders. */
  args: texts,
  timeoutS: z.number(),
  limits,
  notes,
});

export type PlannedBuild = Immutable<z.infer<typeof buildSchema>>;

/** A process of trtexec that runs while another one is measured. */
const neighborSchema = z.object({ buildRef: z.string(), args: texts });

export const runSchema = z.object({
  role: z.enum(['timed', 'profile', 'pair']),
  cellKey: z.string(),
  /** `''` if nothing is built. */
  buildRef: z.string(),
  /** Null if trtexec measures. */
  harness: harnessSchema.nullable().default(null),
  /** Environment variables from axes. */
  env: variables.default({}),
  marks: z.array(z.enum(RUN_MARKS)).default([]),
  /** Repeat within its cell and role, from 1. */
  repeat: z.number(),
  args: texts,
  /** Limit for the whole run, without the additional time for loading a large engine. */
  timeoutS: z.number(),
  limits,
  requested: requestedSchema,
  minQueries: z.number(),
  minWarmUpQueries: z.number(),
  estimateS: z.number(),
  notes,
  neighbor: neighborSchema.exactOptional(),
});

export type PlannedRun = Immutable<z.infer<typeof runSchema>>;

/** The builds whose engines a run loads: its own, and that of its neighbor. */
export function buildRefsOf({ buildRef, neighbor }: PlannedRun): string[] {
  return [buildRef, ...(neighbor === undefined ? [] : [neighbor.buildRef])];
}

const namedShapesSchema = z.record(z.string(), z.array(z.union([z.number(), z.string()])));

/** The shape of each input with the names of its dimensions: `[batch, 3, height, 224]`. */
export type NamedShapes = Immutable<z.infer<typeof namedShapesSchema>>;

const plannedCellSchema = z.object({
  cell: cellSchema.extend({ key: z.string() }),
  label: z.string(),
  namedShapes: namedShapesSchema.default({}),
  buildRef: z.string(),
});

export type PlannedCell = Immutable<z.infer<typeof plannedCellSchema>>;

const retriesSchema = z.object({
  times: z.number(),
  /** Wait before the first retry; each further wait is four times as long. */
  waitS: z.number(),
});

export type Retries = Immutable<z.infer<typeof retriesSchema>>;

/** Everything that a sweep will do, in order. Defaults apply to plans of older versions. */
export const planSchema = z.object({
  schemaVersion: z.literal(1),
  matrix: z.string(),
  /** `none` if trtexec measures no cell. */
  tensorrt: z.string(),
  seed: z.number(),
  repeats: z.number(),
  cells: z.array(plannedCellSchema),
  variants: z.array(variantSchema).default([]),
  builds: z.array(buildSchema),
  runs: z.array(runSchema),
  notes: texts,
  retries: retriesSchema.default({ ...MATRIX_DEFAULTS.retries }),
  /** Wait before each timed run, which the estimates of the runs include. */
  pauseS: z.number().exactOptional(),
});

export type Plan = Immutable<z.infer<typeof planSchema>>;
