import type { VariantRecord } from '../../variants/conversion.ts';
import type { PlannedCalibration } from '../../records/plan.ts';
import type { RunRole } from '../../records/run.ts';
import type { GitState } from '../../records/sweep.ts';

/** Files and programs of a command line that lie elsewhere on another machine. */
export const REPRO_FILES = ['trtexec', 'model', 'variant', 'engine', 'timingCache'] as const;

export type ReproFile = (typeof REPRO_FILES)[number];

/** One argument of a command line that is to be repeated. */
export type ReproWord =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'file';
      readonly file: ReproFile;
      /** What stands before it in the argument: `--loadEngine=`. */
      readonly head: string;
      /** A name that works from the current folder. */
      readonly name: string;
    };

/** How another harness than trtexec was started, as its plan states it. */
export interface ReproStart {
  /** `{runFolder}` stands for the folder of the run. */
  readonly argv: readonly string[];
  /** Where; null for the folder of the run. */
  readonly cwd: string | null;
  /** Variables that the matrix sets for it, or takes away. */
  readonly env: Readonly<Record<string, string | null>>;
  /** Names of variables that the matrix sets, and whose values may be secrets. */
  readonly withheld: readonly string[];
}

export interface ReproCommand {
  /** As it was stored. */
  readonly argv: readonly string[];
  readonly words: readonly ReproWord[];
  /** Null for a command line that a plan states, and no process of this store has run. */
  readonly runId: string | null;
}

/** How the model of an engine was made from another one. */
export interface ReproConversion {
  /** What was made; null when no run tells it. */
  readonly record: VariantRecord | null;
  /** The model that it was made from; null when no plan names it. */
  readonly basePath: string | null;
  /** The whole command line behind the interpreter; null when no plan has it. */
  readonly args: readonly string[] | null;
  readonly calibration: PlannedCalibration | null;
  /** What random values are drawn for, in its order; null when the base model is not here to be asked. */
  readonly drawn: readonly DrawnInput[] | null;
}

/** An input of a base model, with the shape of one calibration step. */
export interface DrawnInput {
  readonly name: string;
  /** As numpy names it: `<f4`. */
  readonly descr: string;
  readonly shape: readonly number[];
}

export interface HashedFile {
  readonly path: string;
  /** Null: not known. */
  readonly sha256: string | null;
}

export interface ReproModel extends HashedFile {
  /** Files with external data that the hash is over as well; null when the model is not here to be asked. */
  readonly external: readonly string[] | null;
}

export interface ReproEngine {
  readonly sha256: string | null;
  /** It is loaded from a file, and nothing is known of its build. */
  readonly isGiven: boolean;
  /** Where the very same engine lies in the cache of this store; null when it is not there. */
  readonly cachedPath: string | null;
}

export interface LeftOutVariables {
  readonly env: Readonly<Record<string, string>>;
  /** So many were stored, and may hold secrets: only names of a list are ever shown. */
  readonly withheld: number;
}

/** What it takes to run a stored run again, with its program alone. */
export interface Reproduction extends LeftOutVariables {
  readonly runId: string;
  readonly sweepId: string;
  readonly repeat: number;
  readonly label: string;
  readonly role: RunRole;
  readonly provenance: string;
  /** Null where trtexec measured. */
  readonly harness: string | null;
  /** Null where trtexec measured, and for a run that no plan of this store states. */
  readonly start: ReproStart | null;
  /** Variables that stand on an axis of the matrix: set for the run alone; null takes one away. */
  readonly axisEnv: Readonly<Record<string, string | null>>;
  readonly startedAt: string | null;
  /** Who wrote the command lines: bench (or whoever it was imported from), or the recorder of a replayed run. */
  readonly source: 'stored' | 'recorder';
  readonly conversion: ReproConversion | null;
  /** Null when nothing was built apart from the run, or nobody knows how. */
  readonly build: ReproCommand | null;
  /** Null for a build, and for a log that tells its command line only as one text. */
  readonly run: ReproCommand | null;
  /** Of a bare log: the arguments joined without quotes, never to be split again. */
  readonly commandLine: string | null;
  readonly model: ReproModel | null;
  readonly engine: ReproEngine;
  readonly trtexec: HashedFile | null;
  /** Files at the inputs. */
  readonly inputs: readonly HashedFile[];
  /** The timing cache that the build began with; null when it began with none, or nobody knows. */
  readonly timingCacheSha256: string | null;
  readonly environment: Readonly<Record<string, string | number | null>>;
  /** `floating`, or `locked 1590 MHz`; null: nobody asked. */
  readonly clockPolicy: string | null;
  readonly git: GitState;
  readonly toolVersion: string;
  readonly notes: readonly string[];
}
