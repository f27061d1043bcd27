import type { PhaseLimits, TimeLimit } from '../records/time-limit.ts';
import type { EnvironmentVariables } from './environment-variables.ts';

/** Reads output and decides when a limit is exceeded: see `PhaseWatch`. Times are in seconds since the start. */
export interface OutputReader {
  read(text: string, stream: 'stdout' | 'stderr', elapsedS: number): void;
  passed(elapsedS: number): TimeLimit | null;
}

/** A process to start: an argument list, never a shell line. */
export interface Invocation {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: EnvironmentVariables;
  /** A file for standard input; without one, standard input is empty. */
  readonly stdinPath?: string;
  readonly stdoutPath: string;
  readonly stderrPath: string;
  /** Limit for the whole process; 0 for none. */
  readonly timeoutMs: number;
  readonly reader?: OutputReader;
  /** Limit for each log; a longer log loses its middle. */
  readonly logCapBytes?: number;
  /** Value of the environment variable that identifies all processes it starts: see `process-identity.ts`. */
  readonly mark?: string;
  /** Descriptors of locks that it inherits, as numbers from 3: see `lock.ts`. */
  readonly locks?: readonly number[];
  /** Number of GPUs that it uses together. Default: 1. */
  readonly gpus?: number;
  /** True while it is being measured, so that nothing may disturb it. */
  readonly isTimed?: boolean;
  /** The GPU first cools down to this temperature in degrees Celsius, if no other cool-down was requested. */
  readonly coolToC?: number | undefined;
  /** A process that runs inference on the same GPU meanwhile: see `spawnWithNeighbor`. */
  readonly neighbor?: Pick<Invocation, 'args' | 'stdoutPath' | 'stderrPath'> & {
    /** Differs from the mark of the measured process: everything with that mark is killed when that process ends. */
    readonly mark: string;
    readonly limits: PhaseLimits;
  };
}

export interface ProcessResult {
  /** Null if it could not be started or was ended by a signal. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  /** The limit of the reader that ended it; null if none did. */
  readonly limit: TimeLimit | null;
  readonly cancelled: boolean;
  /** True if it was ended because it printed more than 1 GiB. */
  readonly logTooLong: boolean;
  /** Why it could not be started; null if it was. */
  readonly startProblem: string | null;
  readonly startedAt: Date;
  readonly wallS: number;
  /** How its neighbor ended, if it ended first; otherwise null. */
  readonly neighborEnded?: string | null;
}

export type Spawn = (
  invocation: Invocation,
  signal: AbortSignal,
  onStart: (pid: number) => void,
) => Promise<ProcessResult>;
