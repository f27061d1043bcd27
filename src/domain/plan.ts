import type { KeyedCell } from './cell.ts';
import type { RequestedOptions } from './run-facts.ts';
import type { RunRole } from './run-record.ts';

/**
 * Paths that are known only when a run is started. They stand in planned command lines as `{engine}` and so on, and
 * are filled in one argument at a time: nothing is ever joined to one string.
 */
export const PLACEHOLDERS = {
  engine: '{engine}',
  timingCache: '{timingCache}',
} as const;

/** An engine to build, shared by every cell that needs the same. */
export interface PlannedBuild {
  /** Tells the engines of one plan apart; the machine and the model's content are not in it. */
  readonly buildRef: string;
  readonly model: string;
  readonly label: string;
  /** Null when the engine was given: nothing is built. */
  readonly onnxPath: string | null;
  readonly enginePath: string | null;
  /** Flags that decide the engine, without paths. */
  readonly flags: readonly string[];
  /** The whole command line behind the program's name, with placeholders. */
  readonly args: readonly string[];
  readonly timeoutS: number;
}

export interface PlannedRun {
  readonly role: Exclude<RunRole, 'build'>;
  readonly cellKey: string;
  readonly buildRef: string;
  /** From 1 within its cell and role. */
  readonly repeat: number;
  readonly args: readonly string[];
  readonly timeoutS: number;
  readonly requested: RequestedOptions;
  readonly minQueries: number;
  readonly minWarmUpQueries: number;
  /** What it will take, by its warm-up and duration. */
  readonly estimateS: number;
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
  readonly tensorrt: string;
  readonly seed: number;
  readonly repeats: number;
  readonly cells: readonly PlannedCell[];
  readonly builds: readonly PlannedBuild[];
  readonly runs: readonly PlannedRun[];
  readonly notes: readonly string[];
}
