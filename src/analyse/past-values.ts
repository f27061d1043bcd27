import { median } from '../domain/median.ts';
import { newestLevel } from './history/change-points.ts';
import type { NightlyValues } from './history/noise.ts';
import { LEAST_PAST_NIGHTS } from './run-noise.ts';

/** Nights that are looked at, so that a step among them is seen, and the newest of their level that count. */
export const PAST_WINDOW_NIGHTS = 40;
const PAST_NIGHTS = 24;

/**
 * Earlier nights of a cell as the prior of a comparison: what nights differ by bounds how well two nights can be
 * compared, however many runs each has. A night's value is the middle of several runs, while the prior is one of
 * single runs, to be divided by their number again: so its deviations are those of a run that makes such nights.
 * @param runsANight runs behind each value of the history
 * @returns values since the last change of level, one a night; none when they are too few to say anything
 */
export function pastValues(history: NightlyValues, runsANight: readonly number[]): number[] {
  const logs = newestLevel(history).slice(-PAST_NIGHTS).map(Math.log);
  if (logs.length < LEAST_PAST_NIGHTS) return [];
  const centre = logs.reduce((sum, value) => sum + value, 0) / logs.length;
  const widened = Math.sqrt(median(runsANight) ?? 1);
  return logs.map((value) => Math.exp(centre + widened * (value - centre)));
}
