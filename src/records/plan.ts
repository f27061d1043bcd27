import type { KeyedCell, Shapes } from './cell.ts';
import type { Converter } from '../variants/conversion.ts';
import type { Precision } from './precision.ts';
import type { RequestedOptions } from '../trtexec/run-facts.ts';
import type { RunMark } from './run-flag.ts';
import type { Retries } from '../trtexec/passing-failure.ts';
import type { RunRole } from './run.ts';
import type { PhaseLimits } from './time-limit.ts';

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

/** Where the values for a calibration come from. */
export type PlannedCalibration =
  | {
      readonly kind: 'random';
      readonly seed: number;
      readonly samples: number;
      /** Of one step; an input that is not here has the static shape that its model states. */
      readonly shapes: Shapes;
    }
  | { readonly kind: 'file'; readonly path: string; readonly shapes: Shapes };

/** A variant of a base model to make, shared by every engine that needs the same. */
export interface PlannedVariant {
  /** Tells the variants of one plan apart; no content is in it. */
  readonly variantRef: string;
  readonly label: string;
  readonly by: Converter;
  readonly precision: Precision;
  /** The base model. */
  readonly onnxPath: string;
  /** Operators that are to be converted or left as they are, as they were asked for. */
  readonly opTypes: readonly string[];
  /** Null when nothing is calibrated. */
  readonly calibration: PlannedCalibration | null;
  /** The whole command line behind the interpreter; its files lie in the folder where it is started. */
  readonly args: readonly string[];
  readonly timeoutS: number;
}

/** Another program than trtexec, and how its files are read when it has ended. */
export interface PlannedHarness {
  /** Which driver reads what it left. */
  readonly driver: string;
  /** Of that driver, with the axes filled in. */
  readonly settings: unknown;
  readonly argv: readonly string[];
  /** Where it is started; null for the folder of the run. */
  readonly cwd: string | null;
  /** On top of the environment of bench; null takes a variable away. */
  readonly env: Readonly<Record<string, string | null>>;
  readonly resultFiles: readonly string[];
}

/** An engine to build, shared by every cell that needs the same. */
export interface PlannedBuild {
  /** Tells the engines of one plan apart; the machine and the model's content are not in it. */
  readonly buildRef: string;
  readonly model: string;
  readonly precision: string;
  readonly label: string;
  /** Which of several builds of the same engine, from 1: how much they differ is what `builds:` is for. */
  readonly number: number;
  /** So many there are of it. */
  readonly of: number;
  /** Its engine stays, whatever else changes. */
  readonly isFrozen: boolean;
  /** A timing cache of the user's own; null for those beside the store, or none. */
  readonly timingCachePath: string | null;
  /** It is used even when it was made on another GPU. */
  readonly forcesTimingCache: boolean;
  /** The variant that is built; null when the model is built as it is. */
  readonly variantRef: string | null;
  /** Null when the engine was given: nothing is built. */
  readonly onnxPath: string | null;
  readonly enginePath: string | null;
  /** Flags that decide the engine, without paths. */
  readonly flags: readonly string[];
  /** The whole command line behind the program's name, with placeholders. */
  readonly args: readonly string[];
  readonly timeoutS: number;
  readonly limits: PlannedLimits;
  /** What people say of its model. */
  readonly notes: readonly string[];
}

/** Limits of the parts of a process. `wholeS`, where it was stated, holds for all of them together. */
export interface PlannedLimits extends PhaseLimits {
  readonly wholeS: number | null;
}

export interface PlannedRun {
  readonly role: Exclude<RunRole, 'build'>;
  readonly cellKey: string;
  /** `''` where nothing is built. */
  readonly buildRef: string;
  /** Null where trtexec measures. */
  readonly harness: PlannedHarness | null;
  /** Variables that stand on an axis; null takes one away. */
  readonly env: Readonly<Record<string, string | null>>;
  /** What an experiment says of its own runs. */
  readonly marks: readonly RunMark[];
  /** From 1 within its cell and role. */
  readonly repeat: number;
  readonly args: readonly string[];
  /** For the whole, without what a large engine may take to load beyond the usual. */
  readonly timeoutS: number;
  readonly limits: PlannedLimits;
  readonly requested: RequestedOptions;
  readonly minQueries: number;
  readonly minWarmUpQueries: number;
  /** What it will take, by its warm-up and duration. */
  readonly estimateS: number;
  /** What people say of its model. */
  readonly notes: readonly string[];
}

export interface PlannedCell {
  readonly cell: KeyedCell;
  readonly label: string;
  readonly buildRef: string;
}

/** Everything that a sweep will do, in the order in which it will do it. */
export interface Plan {
  readonly schemaVersion: 1;
  readonly matrix: string;
  /** `none` where no cell is measured by trtexec. */
  readonly tensorrt: string;
  readonly seed: number;
  readonly repeats: number;
  readonly cells: readonly PlannedCell[];
  /** Made before the engines that need them. */
  readonly variants: readonly PlannedVariant[];
  readonly builds: readonly PlannedBuild[];
  readonly runs: readonly PlannedRun[];
  readonly notes: readonly string[];
  readonly retries: Retries;
}
