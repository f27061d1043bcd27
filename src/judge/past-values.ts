import { median } from '../statistics/median.ts';
import { findChangePoints } from './history/change-points.ts';
import type { CellHistory } from './history/noise.ts';
import { differences, medianIn, scaleOf } from '../statistics/order-statistics.ts';
import { meanLog } from '../statistics/logarithms.ts';
import { LEAST_PAST_NIGHTS } from './run-noise.ts';

/** Number of sweeps searched for steps; `PAST_NIGHTS` is the number of the newest ones at their level that count. */
export const PAST_WINDOW_NIGHTS = 40;
const PAST_NIGHTS = 24;
/** A level equals that of the base within this many standard deviations of a sweep, or within `least`. */
const SAME_LEVEL = { deviations: 4, least: 0.005 } as const;

/**
 * Values of earlier sweeps of a cell for the prior of a comparison, because sweep-to-sweep noise limits it regardless
 * of the number of runs. The value of a sweep is the center of several runs, but the prior is for single runs and is
 * divided by their number. Deviations are therefore scaled to those of a run.
 * @param runsANight number of runs for each value of the history
 * @param base only sweeps at the level of these runs count
 * @returns one value per sweep, oldest first; empty when there are too few
 */
export function pastValues(history: CellHistory, runsANight: readonly number[], base: readonly number[]): number[] {
  if (base.length === 0) return [];
  const level = meanLog(base);
  const typicalRuns = median(runsANight) ?? 1;
  const logs = levelsOf(history)
    .filter((nights) => isLevelOf(nights, level, Math.sqrt(Math.max(1, typicalRuns / base.length))))
    .flatMap((nights) => [...nights])
    .slice(-PAST_NIGHTS);
  if (logs.length < LEAST_PAST_NIGHTS) return [];
  const centre = median(logs) ?? level;
  const widened = Math.sqrt(typicalRuns);
  return logs.map((value) => Math.exp(centre + widened * (value - centre)));
}

function levelsOf(history: CellHistory): Float64Array[] {
  const logs = history.values.map(Math.log);
  const starts = [0, ...findChangePoints(history).map(({ index }) => index)];
  return starts.map((from, place) => logs.subarray(from, starts[place + 1]));
}

function isLevelOf(nights: Float64Array, base: number, fewer: number): boolean {
  const centre = medianIn(nights, 0, nights.length);
  const apart = nights.map((value) => Math.abs(value - centre));
  const deviation = Math.max(1.4826 * medianIn(apart, 0, apart.length), scaleOf(differences(nights, 1), 0.5));
  const { deviations, least } = SAME_LEVEL;
  return Math.abs(base - centre) <= Math.max(least, deviations * fewer * deviation);
}
