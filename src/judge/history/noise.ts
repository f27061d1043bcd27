import { at } from '../../statistics/at.ts';
import { differences, medianIn, middleOf, scaleOf } from '../../statistics/order-statistics.ts';
import { HISTORY } from './settings.ts';

/** Null where it is not known; undefined: of no night. */
type KnownNumbers = readonly (number | null)[] | undefined;
type KnownIds = readonly (string | null)[] | undefined;

/** A cell's history: one entry per measured sweep in every array. */
export interface NightlyValues {
  /** Index of each measured sweep, ascending: sweeps without a value count. */
  readonly nights: readonly number[];
  /** Positive, in any unit. */
  readonly values: Float64Array;
  /** Relative spread of queries within the run; null or 0 where unknown. */
  readonly spread?: KnownNumbers;
  /** Queries of the run. */
  readonly count?: KnownNumbers;
  /** Mean SM clock in MHz. */
  readonly clock?: KnownNumbers;
  /** Build that ran, and what it was made of: the same sources may give other tactics. Null where unknown. */
  readonly builds?: KnownIds;
  readonly sources?: KnownIds;
}

/** Lower bound of the noise: the timer's resolution, and the queries of one run. */
export function noiseFloor({ values, spread = [], count = [] }: NightlyValues): number {
  const sorted = values.toSorted();
  let distinct = 1;
  let step = Number.POSITIVE_INFINITY;
  for (let i = 1; i < sorted.length; i += 1) {
    const gap = at(sorted, i) - at(sorted, i - 1);
    if (gap <= 0) continue;
    distinct += 1;
    step = Math.min(step, gap);
  }
  const timer = isCoarse(distinct, values.length) ? timerNoise(step, medianIn(sorted, 0, sorted.length)) : 0;
  const errors = new Float64Array(spread.length);
  let known = 0;
  for (let night = 0; night < spread.length; night += 1) {
    const error = queryError(spread[night], count[night]);
    if (error === null) continue;
    errors[known] = error;
    known += 1;
  }
  return Math.max(timer, middleOf(errors.subarray(0, known)), LEAST_FLOOR);
}

export const LEAST_FLOOR = 1e-6;

/** Of the center of a run, relative; null where it is not known. */
export function queryError(spread: number | null | undefined, queries: number | null | undefined): number | null {
  return spread && queries ? spread / Math.sqrt(queries) : null;
}

/** Few different values, as of a timer. */
export function isCoarse(distinct: number, count: number): boolean {
  return distinct > 1 && distinct <= Math.max(3, 0.6 * count);
}

/** Standard deviation of what a timer rounds. */
export function timerNoise(step: number, median: number): number {
  return step / median / Math.sqrt(12);
}

/**
 * Logs of values, as cycles where that reduces the scatter much. Memory-bound cells do not follow the clock: the data
 * decide.
 */
export function logsOf({ values, clock = [] }: NightlyValues): Float64Array {
  const logs = values.map(Math.log);
  const clocks = knownClocks(clock);
  if (clocks === null) return logs;
  const typical = medianIn(clocks, 0, clocks.length);
  if (rangeOf(clocks) / typical <= HISTORY.clockMoves) return logs;
  const cycles = logs.map((log, night) => log + Math.log(at(clocks, night) / typical));
  const before = scaleOf(differences(logs, 1), 0.9);
  const after = scaleOf(differences(cycles, 1), 0.9);
  return after < HISTORY.clockGain * before || isExplained(clocks, logs, cycles) ? cycles : logs;
}

/** A clock that seldom switches shows in few differences: only those at its switches are compared. */
function isExplained(clocks: Float64Array, logs: Float64Array, cycles: Float64Array): boolean {
  const switches = differences(clocks.map(Math.log), 1);
  const atSwitches = (values: Float64Array): Float64Array =>
    differences(values, 1).filter((_, place) => at(switches, place) > HISTORY.clockMoves);
  const before = atSwitches(logs);
  if (before.length < HISTORY.leastSwitches) return false;
  return middleOf(atSwitches(cycles)) < HISTORY.switchGain * middleOf(before);
}

/** Null where a sweep lacks its clock: half a history cannot be converted to cycles. */
function knownClocks(clock: readonly (number | null)[]): Float64Array | null {
  const clocks = new Float64Array(clock.length);
  for (const [night, mhz] of clock.entries()) {
    if (mhz === null || Number.isNaN(mhz)) return null;
    clocks[night] = mhz;
  }
  return clocks.length === 0 ? null : clocks;
}

function rangeOf(values: Float64Array): number {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < values.length; i += 1) {
    const value = at(values, i);
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return most - least;
}

/**
 * @returns `clipped`: single outliers are moved to within a few deviations of their neighbours; `sigma`: standard
 * deviation
 * of one night, in logarithms; `slowFactor`: at least 1, by how much nights further apart differ more than neighbours do
 * (drift, waves, autocorrelation)
 */
export function noiseOf(logs: Float64Array, floor: number) {
  const raw = differences(logs, 1);
  const clipped = clip(logs, Math.max(scaleOf(raw, 0.5), 0.75 * scaleOf(raw, 0.75), floor));
  const neighbours = differences(clipped, 1);
  const sigma = Math.max(scaleOf(neighbours, 0.5), scaleOf(neighbours, 0.75), floor);
  const slow = [3, 5, 8].map((lag) => scaleOf(differences(clipped, lag), 0.5) / sigma);
  return { clipped, sigma, slowFactor: Math.max(1, ...slow) };
}

/** Hampel's filter: single outliers vanish, a level that lasts stays. */
function clip(logs: Float64Array, sigma: number): Float64Array {
  const { clipHalf } = HISTORY;
  const window = new Float64Array(2 * clipHalf + 1);
  return logs.map((value, night) => {
    const from = Math.max(0, night - clipHalf);
    const to = Math.min(logs.length, night + clipHalf + 1);
    return clippedTo(value, smallMedian(logs, from, to, window), sigma);
  });
}

export function clippedTo(value: number, middle: number, sigma: number): number {
  const limit = HISTORY.clip * sigma;
  return Math.min(Math.max(value, middle - limit), middle + limit);
}

/** Median by insertion into a reused buffer. */
export function smallMedian(values: Float64Array, from: number, to: number, buffer: Float64Array): number {
  const n = to - from;
  for (let i = 0; i < n; i += 1) {
    const value = at(values, from + i);
    let place = i;
    for (; place > 0 && at(buffer, place - 1) > value; place -= 1) buffer[place] = at(buffer, place - 1);
    buffer[place] = value;
  }
  const middle = n >> 1;
  const upper = at(buffer, middle);
  return n % 2 === 1 ? upper : (at(buffer, middle - 1) + upper) / 2;
}
