import { at } from '../../statistics/at.ts';
import { differences, medianIn, middleOf, scaleOf } from '../../statistics/order-statistics.ts';
import { HISTORY } from './settings.ts';

/** Null where it is not known; undefined: of no sweep. */
type Known<Fact> = readonly (Fact | null)[] | undefined;

/** A cell's history: one entry per measured sweep in every array. */
export interface CellHistory {
  /** Index of each measured sweep, ascending: sweeps without a value count. */
  readonly nights: readonly number[];
  /** Positive, in any unit. */
  readonly values: Float64Array;
  /** Mean SM clock in MHz. */
  readonly clock?: Known<number>;
  /** Build that ran, and what it was made of: the same sources may give other tactics. Null where unknown. */
  readonly builds?: Known<string>;
  readonly sources?: Known<string>;
}

/** A place may be off by this many sweeps. */
const NEAR_SWEEPS = 1;

/**
 * True when a level begins with another build of the same sources: other tactics, not other code. False where builds or
 * sources are not known, or where new sources were built about then too.
 * @param index of the level's first sweep among the measured ones
 */
export function isBuildLuck({ builds, sources }: CellHistory, index: number): boolean {
  if (builds === undefined || sources === undefined) return false;
  let isRebuilt = false;
  for (let place = Math.max(1, index - NEAR_SWEEPS); place <= index + NEAR_SWEEPS; place += 1) {
    const [before, after] = [builds[place - 1] ?? null, builds[place] ?? null];
    if (before === null || after === null || before === after) continue;
    const [from, to] = [sources[place - 1] ?? null, sources[place] ?? null];
    if (from === null || from !== to) return false;
    isRebuilt = true;
  }
  return isRebuilt;
}

/**
 * Logs of values, as cycles where that reduces the scatter much. Memory-bound cells do not follow the clock: the data
 * decide.
 */
export function logsOf({ values, clock = [] }: CellHistory): Float64Array {
  const logs = values.map(Math.log);
  const clocks = knownClocks(clock);
  if (clocks === null) return logs;
  const typical = Math.log(medianIn(clocks, 0, clocks.length));
  const offsets = clocks.map((mhz) => Math.log(mhz) - typical);
  if (Math.max(...offsets) - Math.min(...offsets) <= HISTORY.clockMoves) return logs;
  const cycles = logs.map((log, sweep) => log + at(offsets, sweep));
  const before = scaleOf(differences(logs, 1), 0.9);
  const after = scaleOf(differences(cycles, 1), 0.9);
  return after < HISTORY.clockGain * before || isExplained(offsets, logs, cycles) ? cycles : logs;
}

/** A clock that seldom switches shows in few differences: only those at its switches are compared. */
function isExplained(clocks: Float64Array, logs: Float64Array, cycles: Float64Array): boolean {
  const switches = differences(clocks, 1);
  const atSwitches = (values: Float64Array): Float64Array =>
    differences(values, 1).filter((_, place) => at(switches, place) > HISTORY.clockMoves);
  const before = atSwitches(logs);
  if (before.length < HISTORY.leastSwitches) return false;
  return middleOf(atSwitches(cycles)) < HISTORY.switchGain * middleOf(before);
}

/** Null where a sweep lacks its clock: half a history cannot be converted to cycles. */
function knownClocks(clock: readonly (number | null)[]): Float64Array | null {
  const clocks = Float64Array.from(clock, (mhz) => mhz ?? Number.NaN);
  return clocks.length === 0 || clocks.some(Number.isNaN) ? null : clocks;
}

/**
 * @returns `clipped`: single outliers are moved to within a few deviations of their neighbors; `sigma`: standard
 * deviation of one sweep, in logarithms; `slowFactor`: at least 1, by how much sweeps further apart differ more than
 * neighbors do (drift, waves, autocorrelation)
 */
export function noiseOf(logs: Float64Array) {
  const raw = differences(logs, 1);
  const clipped = clip(logs, Math.max(scaleOf(raw, 0.5), 0.75 * scaleOf(raw, 0.75), LEAST_SIGMA));
  const neighbors = differences(clipped, 1);
  const sigma = Math.max(scaleOf(neighbors, 0.5), scaleOf(neighbors, 0.75), LEAST_SIGMA);
  const slow = [3, 5, 8].map((lag) => scaleOf(differences(clipped, lag), 0.5) / sigma);
  return { clipped, sigma, slowFactor: Math.max(1, ...slow) };
}

/** Relative; of a timer that rounds to the same value. */
const LEAST_SIGMA = 1e-6;

/** Hampel's filter (Hampel 1974): single outliers vanish, a level that lasts stays. */
function clip(logs: Float64Array, sigma: number): Float64Array {
  const { clipHalf } = HISTORY;
  const limit = HISTORY.clip * sigma;
  return logs.map((value, sweep) => {
    const middle = medianIn(logs, Math.max(0, sweep - clipHalf), Math.min(logs.length, sweep + clipHalf + 1));
    return Math.min(Math.max(value, middle - limit), middle + limit);
  });
}
