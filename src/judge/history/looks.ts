import { type ChangePoint, type CutHistory, cutHistory } from './change-points.ts';
import type { NightlyValues } from './noise.ts';
import { ALERTING } from './settings.ts';

/** A history as it was seen in one of its sweeps, with only the past. Indices count all measured sweeps. */
export interface Look extends Omit<CutHistory, 'levels'> {
  /** Measured sweeps until then, this one included. */
  readonly sweeps: number;
  readonly levels: readonly { readonly from: number; readonly to: number; readonly median: number }[];
  /** Measured sweeps before the window: index of the first of `logs`. */
  readonly offset: number;
}

/** @param sweeps measured ones, at least 1 */
export function lookAt(history: NightlyValues, sweeps: number): Look {
  return asLook(cutHistory(untilSweep(history, sweeps)), sweeps);
}

/** @param cut the window that ends with a sweep */
export function asLook({ logs, sigma, levels, changes }: CutHistory, sweeps: number): Look {
  const offset = Math.max(0, sweeps - ALERTING.windowNights);
  if (offset === 0) return { sweeps, logs, sigma, levels, changes, offset };
  return {
    sweeps,
    logs,
    sigma,
    levels: levels.map(({ from, to, median }) => ({ from: from + offset, to: to + offset, median })),
    changes: changes.map((change) => ({ ...change, index: change.index + offset })),
    offset,
  };
}

/**
 * The past up to a sweep, limited to the window.
 * @param sweeps measured ones
 */
function untilSweep(history: NightlyValues, sweeps: number): NightlyValues {
  const from = Math.max(0, sweeps - ALERTING.windowNights);
  return {
    nights: history.nights.slice(from, sweeps),
    values: history.values.subarray(from, sweeps),
    spread: history.spread?.slice(from, sweeps),
    count: history.count?.slice(from, sweeps),
    clock: history.clock?.slice(from, sweeps),
  };
}

/**
 * The changes that the newest look shows clearly, and in how many looks running.
 * @param looks of successive sweeps, oldest first
 */
export function seenChanges(looks: readonly Look[]): readonly SeenChange[] {
  let seen: readonly SeenChange[] = [];
  for (const look of looks) {
    const before = seen;
    seen = look.changes.flatMap((change) => {
      // Margins count less in short histories, whose slow noise is not known yet.
      const short = 1 + ALERTING.shortNights / (look.sweeps - look.offset);
      if (change.margin / short < 1) return [];
      const earlier = before
        .filter((other) => Math.abs(other.change.night - change.night) <= ALERTING.moveNights)
        .map(({ running }) => running);
      return [{ change, running: 1 + Math.max(0, ...earlier) }];
    });
  }
  return seen;
}

interface SeenChange {
  readonly change: ChangePoint;
  readonly running: number;
}
