import * as z from 'zod';

import { cellSchema, PRECISIONS, shapesSchema } from './cell.ts';
import { CONVERTERS } from '../variants/conversion.ts';
import { MATRIX_DEFAULTS } from '../matrix/schema/defaults.ts';
import { requestedSchema } from '../trtexec/run-facts.ts';
import { RUN_MARKS } from './run-flag.ts';
import { type Immutable, textOrNull } from './scalars.ts';
import { NO_PHASE_LIMITS, phaseLimitsSchema } from './time-limit.ts';

/**
 * Paths that are known only when a run is started. They stand in planned command lines as `{engine}` and so on, and
 * are filled in one argument at a time: nothing is ever joined to one string.
 */
export const PLACEHOLDERS = {
  engine: '{engine}',
  timingCache: '{timingCache}',
  runFolder: '{runFolder}',
  variant: '{variant}',
} as const;

/** In place of a version, where no cell is measured by trtexec. */
export const NO_TENSORRT = 'none';

const texts = z.array(z.string());
/** null takes a variable away. */
const variables = z.record(z.string(), textOrNull);
/** What people say of a model. */
const notes = texts.default([]);

/** Where the values for a calibration come from. */
const calibrationSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('random'),
    seed: z.number(),
    samples: z.number(),
    /** Of one step; an input that is not here has the static shape that its model states. */
    shapes: shapesSchema,
  }),
  z.object({ kind: z.literal('file'), path: z.string(), shapes: shapesSchema }),
]);

export type PlannedCalibration = Immutable<z.infer<typeof calibrationSchema>>;

/** A variant of a base model to make, shared by every engine that needs the same. */
const variantSchema = z.object({
  /** Tells the variants of one plan apart; no content is in it. */
  variantRef: z.string(),
  label: z.string(),
  by: z.enum(CONVERTERS),
  precision: z.enum(PRECISIONS),
  /** The base model. */
  onnxPath: z.string(),
  /** Operators that are to be converted or left as they are, as the matrix states them. */
  opTypes: texts,
  /** Null when nothing is calibrated. */
  calibration: calibrationSchema.nullable(),
  /** The whole command line behind the interpreter; its files lie in the folder where it is started. */
  args: texts,
  timeoutS: z.number(),
});

export type PlannedVariant = Immutable<z.infer<typeof variantSchema>>;

/** Another program than trtexec, and how its files are read when it has ended. */
const harnessSchema = z.object({
  /** Which driver reads what it left. */
  driver: z.string(),
  /** Of that driver, with the axes filled in. */
  settings: z.unknown(),
  argv: texts,
  /** Where it is started; null for the folder of the run. */
  cwd: textOrNull,
  /** On top of the environment of bench. */
  env: variables,
  resultFiles: texts,
});

export type PlannedHarness = Immutable<z.infer<typeof harnessSchema>>;

/** Limits of the parts of a process. `wholeS`, where it was stated, holds for all of them together. */
const limitsSchema = phaseLimitsSchema.extend({ wholeS: z.number().nullable() });

export type PlannedLimits = Immutable<z.infer<typeof limitsSchema>>;

/** Plans of an older bench have only a limit of the whole. */
const limits = limitsSchema.default({ ...NO_PHASE_LIMITS, wholeS: null });

/** An engine to build, shared by every cell that needs the same. */
const buildSchema = z.object({
  /** The variant that is built; null when the model is built as it is. */
  variantRef: textOrNull.default(null),
  /** Tells the engines of one plan apart; the machine and the model's content are not in it. */
  buildRef: z.string(),
  model: z.string(),
  precision: z.string().default('unstated'),
  label: z.string(),
  /** Which of several builds of the same engine, from 1: how much they differ is what `builds:` is for. */
  number: z.number().default(1),
  /** How many builds there are of it. */
  of: z.number().default(1),
  /** Its engine stays, whatever else changes. */
  isFrozen: z.boolean().default(false),
  /** A timing cache of the user's own; null for those next to the store, or none. */
  timingCachePath: textOrNull.default(null),
  /** It is used even when it was made on another GPU. */
  forcesTimingCache: z.boolean().default(false),
  /** Null when the engine was given: nothing is built. */
  onnxPath: textOrNull,
  enginePath: textOrNull,
  /** Flags that decide the engine, without paths. */
  flags: texts,
  /** The whole command line behind the program's name, with placeholders. */
  args: texts,
  timeoutS: z.number(),
  limits,
  notes,
});

export type PlannedBuild = Immutable<z.infer<typeof buildSchema>>;

const runSchema = z.object({
  role: z.enum(['timed', 'profile']),
  cellKey: z.string(),
  /** `''` where nothing is built. */
  buildRef: z.string(),
  /** Null where trtexec measures. */
  harness: harnessSchema.nullable().default(null),
  /** Variables that stand on an axis. */
  env: variables.default({}),
  /** What an experiment says of its own runs. */
  marks: z.array(z.enum(RUN_MARKS)).default([]),
  /** From 1 within its cell and role. */
  repeat: z.number(),
  args: texts,
  /** For the whole, without what a large engine may take to load beyond the usual. */
  timeoutS: z.number(),
  limits,
  requested: requestedSchema,
  minQueries: z.number(),
  minWarmUpQueries: z.number(),
  /** What it will take, by its warm-up and duration. */
  estimateS: z.number(),
  notes,
});

export type PlannedRun = Immutable<z.infer<typeof runSchema>>;

const plannedCellSchema = z.object({
  cell: cellSchema.extend({ key: z.string() }),
  label: z.string(),
  buildRef: z.string(),
});

export type PlannedCell = Immutable<z.infer<typeof plannedCellSchema>>;

/** How often and after which time a run is tried once more. */
const retriesSchema = z.object({
  times: z.number(),
  /** Before the first; four times as long before each next one. */
  waitS: z.number(),
});

export type Retries = Immutable<z.infer<typeof retriesSchema>>;

/** Everything that a sweep will do, in the order in which it will do it. Defaults are what older plans meant. */
export const planSchema = z.object({
  schemaVersion: z.literal(1),
  matrix: z.string(),
  /** `none` where no cell is measured by trtexec. */
  tensorrt: z.string(),
  seed: z.number(),
  repeats: z.number(),
  cells: z.array(plannedCellSchema),
  /** Made before the engines that need them. */
  variants: z.array(variantSchema).default([]),
  builds: z.array(buildSchema),
  runs: z.array(runSchema),
  notes: texts,
  retries: retriesSchema.default({ ...MATRIX_DEFAULTS.retries }),
});

export type Plan = Immutable<z.infer<typeof planSchema>>;
