import * as z from 'zod';

import { type Immutable, numberOrNull, textOrNull } from './scalars.ts';
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
export const phaseLimitsSchema = z.object({
  /** From the start to the first byte of output: the libraries are loaded from a disk that may be slow. */
  firstOutputS: numberOrNull,
  /** From there to `Starting inference`: CUDA starts, the engine is loaded. */
  loadS: numberOrNull,
  /** From there to the end of the last timed query. */
  timedPartS: numberOrNull,
  /** From there to the end: exports, and the second pass of a profile run. */
  endS: numberOrNull,
});

export type PhaseLimits = Immutable<z.infer<typeof phaseLimitsSchema>>;

export const NO_PHASE_LIMITS: PhaseLimits = { firstOutputS: null, loadS: null, timedPartS: null, endS: null };

/** Which limit ended a process, and what it was doing. */
export const timeLimitSchema = z.object({
  phase: z.enum(RUN_PHASES),
  /** What the limit was for; `whole` for the process from start to end. */
  of: z.enum(['phase', 'whole']),
  limitS: z.number(),
  /** How long it had been in that phase. */
  inPhaseS: z.number(),
  /** The last line that it printed; null for none. */
  lastLine: textOrNull,
});

export type TimeLimit = Immutable<z.infer<typeof timeLimitSchema>>;

export function timeLimitText({ phase, of, limitS, inPhaseS, lastLine }: TimeLimit): string {
  const limit = `${Number(limitS.toFixed(1))} s`;
  const which =
    of === 'phase'
      ? `the limit of ${limit} for this part`
      : `the limit of ${limit} for the whole, ${Number(inPhaseS.toFixed(1))} s of it there`;
  const lastWords = lastLine === null ? 'it had printed nothing' : `its last line: ${printable(lastLine)}`;
  return `ended ${phase} by ${which}; ${lastWords}`;
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
