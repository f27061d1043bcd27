import { at } from '../../statistics/at.ts';
import { medianIn, middleOf } from '../../statistics/order-statistics.ts';
import type { Look } from './looks.ts';
import { EARLY } from './settings.ts';

/** Successive sweeps that lie on one side of the level before them. In logarithms. */
export interface Departure {
  /** Index of the first one. */
  readonly index: number;
  /** The level before them, and their median without it. */
  readonly before: number;
  readonly shift: number;
  /** Standard deviation of one sweep. */
  readonly sigma: number;
  /** The least distance from the level, in standard deviations. */
  readonly deviations: number;
  /** Between the highest and the lowest of them. */
  readonly range: number;
  /** How often the cell left its levels about as far on that side before. */
  readonly excursions: number;
}

/**
 * The sweeps that follow a look, against the level that it shows.
 * @param newest a look that has these sweeps
 * @param count of sweeps
 * @returns null unless all of them lie well off that level on one side
 */
export function departureOf(newest: Look, before: Look, count: number): Departure | null {
  const level = before.levels.at(-1);
  if (level === undefined || level.to - level.from < EARLY.levelSweeps) return null;
  const { logs, offset } = newest;
  const { sigma } = before;
  const index = before.sweeps;
  const center = medianIn(logs, Math.max(0, level.from - offset), index - offset);
  const shifts = logs.slice(index - offset, index - offset + count).map((log) => log - center);
  const sign = Math.sign(at(shifts, 0));
  const least = Math.min(...shifts.map((shift) => shift * sign));
  if (least < Math.max(EARLY.leastDeviations * sigma, EARLY.leastChange)) return null;
  const range = Math.max(...shifts) - Math.min(...shifts);
  const shift = middleOf(shifts);
  const excursions = excursionsOf(newest, before, shift);
  return { index, before: center, shift, sigma, deviations: least / sigma, range, excursions };
}

/** How often sweeps left their level towards the side of a shift by a good part of it. */
function excursionsOf({ logs, offset }: Look, before: Look, shift: number): number {
  const sign = Math.sign(shift);
  const far = Math.max(EARLY.farDeviations * before.sigma, EARLY.farShare * Math.abs(shift));
  let excursions = 0;
  let wasFar = false;
  for (const level of before.levels) {
    const from = Math.max(0, level.from - offset);
    const to = level.to - offset;
    if (to <= from) continue;
    const center = medianIn(logs, from, to);
    for (let index = from; index < to; index += 1) {
      const isFar = (at(logs, index) - center) * sign > far;
      if (isFar && !wasFar) excursions += 1;
      wasFar = isFar;
    }
  }
  return excursions;
}

/** All of the newest sweeps lie beyond those just before them: what every early change does, and few sweeps do. */
export function isBeyondRecent({ logs }: Look, count: number): boolean {
  const index = logs.length - count;
  const recent = logs.subarray(Math.max(0, index - EARLY.levelSweeps), index);
  const newest = logs.subarray(index);
  return Math.min(...newest) > Math.max(...recent) || Math.max(...newest) < Math.min(...recent);
}
