import * as z from 'zod';

import { type Immutable, numberOrNull, textOrNull } from './scalars.ts';
import { printable } from '../text/printable.ts';

/** Maximum time of each phase in seconds. Null: only the whole process has a limit. */
export const phaseLimitsSchema = z.object({
  /** From the start to the first byte of output, while libraries load from a possibly slow disk. */
  firstOutputS: numberOrNull,
  /** Until `Starting inference`, while CUDA starts and the engine loads. */
  loadS: numberOrNull,
  /** Until the end of the last timed query. */
  timedPartS: numberOrNull,
  /** Until the end of the process: exports, and the second pass of a profile run. */
  endS: numberOrNull,
});

export type PhaseLimits = Immutable<z.infer<typeof phaseLimitsSchema>>;

export const NO_PHASE_LIMITS: PhaseLimits = { firstOutputS: null, loadS: null, timedPartS: null, endS: null };

export const timeLimitSchema = z.object({
  phase: z.string(),
  /** Scope of the limit; `whole` for the process from start to end. */
  of: z.enum(['phase', 'whole']),
  limitS: z.number(),
  inPhaseS: z.number(),
  lastLine: textOrNull,
});

export type TimeLimit = Immutable<z.infer<typeof timeLimitSchema>>;

export function timeLimitText({ phase, of, limitS, inPhaseS, lastLine }: TimeLimit): string {
  const scope = of === 'phase' ? 'this part' : `the whole, ${Number(inPhaseS.toFixed(1))} s of it there`;
  const lastWords = lastLine === null ? 'it had printed nothing' : `its last line: ${printable(lastLine)}`;
  return `ended ${phase} by the limit of ${Number(limitS.toFixed(1))} s for ${scope}; ${lastWords}`;
}

/** Slowest assumed speed for loading an engine of many gigabytes from a network disk. */
const SLOWEST_LOAD_BYTES_PER_S = 20e6;

export function withEngineOf(limits: PhaseLimits, engineBytes: number): PhaseLimits {
  const { loadS } = limits;
  return loadS === null ? limits : { ...limits, loadS: loadS + engineBytes / SLOWEST_LOAD_BYTES_PER_S };
}

/** Sum over the phases; null if one has no limit. */
export function wholeLimitS({ firstOutputS, loadS, timedPartS, endS }: PhaseLimits): number | null {
  if (firstOutputS === null || loadS === null || timedPartS === null || endS === null) return null;
  return firstOutputS + loadS + timedPartS + endS;
}
