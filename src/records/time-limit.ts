import { printable } from '../text/printable.ts';

/** How far a trtexec process has come, as far as its log tells. */
export const RUN_PHASES = [
  'before its first output',
  'while setting up',
  'while parsing the model',
  'while building',
  'while loading the engine',
  'in warm-up or the timed part',
  'after the timed part',
] as const;

export type RunPhase = (typeof RUN_PHASES)[number];

/** The longest time that each part of a process may take, in seconds. Null: only the whole is limited. */
export interface PhaseLimits {
  /** From the start to the first byte of output: the libraries are loaded from a disk that may be slow. */
  readonly firstOutputS: number | null;
  /** From there to `Starting inference`: CUDA starts, the engine is loaded. */
  readonly loadS: number | null;
  /** From there to the end of the last timed query. */
  readonly timedPartS: number | null;
  /** From there to the end: exports, and the second pass of a profile run. */
  readonly endS: number | null;
}

export const NO_PHASE_LIMITS: PhaseLimits = { firstOutputS: null, loadS: null, timedPartS: null, endS: null };

/** Which limit ended a process, and what it was doing. */
export interface TimeLimit {
  readonly phase: RunPhase;
  /** What the limit was for; `whole` for the process from start to end. */
  readonly of: 'phase' | 'whole';
  readonly limitS: number;
  /** How long it had been in that phase. */
  readonly inPhaseS: number;
  /** The last line that it printed; null for none. */
  readonly lastLine: string | null;
}

export function timeLimitText({ phase, of, limitS, inPhaseS, lastLine }: TimeLimit): string {
  const limit = `${Number(limitS.toFixed(1))} s`;
  const which =
    of === 'phase'
      ? `the limit of ${limit} for this part`
      : `the limit of ${limit} for the whole, ${Number(inPhaseS.toFixed(1))} s of it there`;
  const said = lastLine === null ? 'it had printed nothing' : `its last line: ${printable(lastLine)}`;
  return `ended ${phase} by ${which}; ${said}`;
}

/** An engine of many gigabytes may come from a network disk at about this speed. */
const SLOWEST_LOAD_BYTES_PER_S = 20e6;

/** The same limits with time to load an engine of that size. */
export function withEngineOf(limits: PhaseLimits, engineBytes: number): PhaseLimits {
  const { loadS } = limits;
  return loadS === null ? limits : { ...limits, loadS: loadS + engineBytes / SLOWEST_LOAD_BYTES_PER_S };
}

/** What all parts may take together; null when one of them is not limited. */
export function wholeLimitS({ firstOutputS, loadS, timedPartS, endS }: PhaseLimits): number | null {
  if (firstOutputS === null || loadS === null || timedPartS === null || endS === null) return null;
  return firstOutputS + loadS + timedPartS + endS;
}
