import { at } from '../../statistics/at.ts';
import { medianIn, middleOf } from '../../statistics/order-statistics.ts';
import type { Look } from './looks.ts';
import { EARLY, HISTORY } from './settings.ts';

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
  /** Earlier stays well off that level on the same side. */
  readonly visits: number;
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
  const departure = { index, before: center, shift, sigma, deviations: least / sigma, range };
  return { ...departure, visits: visitsBeyond(newest, index, center, shift, sigma).count };
}

/** Earlier stays at another level that were no longer than a state is. */
export interface Visits {
  readonly count: number;
  /** In sweeps. */
  readonly longest: number;
}

/** Stays beyond a good part of a shift from a level, in the sweeps before an index. */
export function visitsBeyond(look: Look, index: number, level: number, shift: number, sigma: number): Visits {
  const sign = Math.sign(shift);
  const far = Math.max(EARLY.farDeviations * sigma, EARLY.farShare * Math.abs(shift));
  return visits(look.logs.subarray(0, index - look.offset), 1, (log) => (log - level) * sign > far);
}

/** Stays about as far off a level as a shift, in the sweeps before an index. A single sweep is an outlier. */
export function similarVisits(look: Look, index: number, level: number, shift: number, sigma: number): Visits {
  const tolerance = Math.max(HISTORY.similarShare * Math.abs(shift), sigma);
  const isThere = (log: number): boolean => Math.abs(log - level - shift) <= tolerance;
  return visits(look.logs.subarray(0, index - look.offset), 2, isThere);
}

function visits(logs: Float64Array, shortest: number, isThere: (log: number) => boolean): Visits {
  let count = 0;
  let longest = 0;
  let stay = 0;
  for (let place = 0; place <= logs.length; place += 1) {
    if (place < logs.length && isThere(at(logs, place))) {
      stay += 1;
      continue;
    }
    if (stay >= shortest && stay <= HISTORY.stateNights) {
      count += 1;
      longest = Math.max(longest, stay);
    }
    stay = 0;
  }
  return { count, longest };
}

/**
 * All of the newest sweeps lie above, or all below, those before them: as every early change does, and few sweeps do.
 * @param recent number of sweeps before them that count
 */
export function isBeyond({ logs }: Look, count: number, recent = logs.length): boolean {
  const index = logs.length - count;
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let place = index; place < logs.length; place += 1) {
    low = Math.min(low, at(logs, place));
    high = Math.max(high, at(logs, place));
  }
  let [isAbove, isBelow] = [true, true];
  for (let place = index - 1; place >= Math.max(0, index - recent) && (isAbove || isBelow); place -= 1) {
    isAbove &&= at(logs, place) < low;
    isBelow &&= at(logs, place) > high;
  }
  return isAbove || isBelow;
}
