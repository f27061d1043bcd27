import { at, differences, medianIn, middleOf, scaleOf } from '../../statistics/order-statistics.ts';

/** Null where it is not known; undefined: of no sweep. */
type Known<Fact> = readonly (Fact | null)[] | undefined;

/** A cell's history: one entry per measured sweep in every array. */
export interface CellHistory {
  /** Index of each measured sweep, ascending: sweeps without a value count. */
  readonly places: readonly number[];
  readonly values: Float64Array;
  readonly clock?: Known<number>;
  /** Build that ran, and what it was made of: the same sources may give other tactics. Null where unknown. */
  readonly builds?: Known<string>;
  readonly sources?: Known<string>;
}

const LEAST_SIGMA = 1e-6;
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
 * decide. A clock that seldom switches shows in few differences: then only those at its switches are compared.
 */
export function logsOf({ values, clock = [] }: CellHistory): Float64Array {
  const logs = values.map(Math.log);
  // Half a history cannot be converted to cycles.
  if (clock.length === 0 || clock.includes(null)) return logs;
  const clocks = Float64Array.from(clock, (mhz) => mhz ?? 1);
  const typical = Math.log(medianIn(clocks, 0, clocks.length));
  const offsets = clocks.map((mhz) => Math.log(mhz) - typical);
  if (Math.max(...offsets) - Math.min(...offsets) <= HISTORY.clockMoves) return logs;
  const cycles = logs.map((log, sweep) => log + at(offsets, sweep));
  const [before, after] = [differences(logs, 1), differences(cycles, 1)];
  const switches = differences(offsets, 1);
  const isSwitch = (_: number, place: number): boolean => at(switches, place) > HISTORY.clockMoves;
  const [was, is] = [before.filter(isSwitch), after.filter(isSwitch)];
  const isExplained = was.length >= HISTORY.leastSwitches && middleOf(is) < HISTORY.switchGain * middleOf(was);
  return scaleOf(after, 0.9) < HISTORY.clockGain * scaleOf(before, 0.9) || isExplained ? cycles : logs;
}

/**
 * @returns `clipped`: single outliers are moved to within a few deviations of their neighbors; `sigma`: standard
 * deviation of one sweep, in logarithms; `slowFactor`: at least 1, by how much sweeps further apart differ more than
 * neighbors do (drift, waves, autocorrelation)
 */
export function noiseOf(logs: Float64Array) {
  const raw = differences(logs, 1);
  const limit = HISTORY.clip * Math.max(scaleOf(raw, 0.5), 0.75 * scaleOf(raw, 0.75), LEAST_SIGMA);
  // Hampel's filter (Hampel 1974): single outliers vanish, a level that lasts stays.
  const clipped = logs.map((value, sweep) => {
    const from = Math.max(0, sweep - HISTORY.clipHalf);
    const middle = medianIn(logs, from, Math.min(logs.length, sweep + HISTORY.clipHalf + 1));
    return Math.min(Math.max(value, middle - limit), middle + limit);
  });
  const neighbors = differences(clipped, 1);
  const sigma = Math.max(scaleOf(neighbors, 0.5), scaleOf(neighbors, 0.75), LEAST_SIGMA);
  const slow = [3, 5, 8].map((lag) => scaleOf(differences(clipped, lag), 0.5) / sigma);
  return { clipped, sigma, slowFactor: Math.max(1, ...slow) };
}

/**
 * Parameters of the history detector, tuned on simulated histories (benchmarks/detection/README.md): score again after
 * any change.
 */
export const HISTORY = {
  leastSweeps: 8,
  /** Per boundary, times the squared slow noise factor and the log of the number of sweeps. */
  penalty: 7.5,
  leastLevel: 3,
  /** A sweep is moved to within this many standard deviations of the median of its neighbors. */
  clip: 3,
  clipHalf: 3,
  /** A boundary has margin 1 at this many standard errors ... */
  leastErrors: 3,
  /** ... of a difference of medians, whose error exceeds that of means by this factor, */
  medianError: 1.25,
  /** at this many standard deviations, */
  leastDeviations: 0.85,
  /** and at this relative change. */
  leastChange: 0.003,
  /** Least noise of a level, as a share of the series'. */
  noiseShare: 0.7,
  /** Sweeps around a boundary that say how the level scatters there. */
  near: 30,
  /** From this many sweeps a level's own deviation counts. */
  levelSweeps: 6,
  /** Rank test: raw values a side, at most and at least, and its p value. */
  rankSweeps: 24,
  leastRankSweeps: 6,
  rankP: 0.01,
  /** A younger newest level must lie beyond half the shift in every sweep. */
  youngSweeps: 6,
  /** Known states: at least this many deviations off, no longer than this, visited so often before. */
  stateDeviations: 4,
  stateSweeps: 30,
  stateVisits: 2,
  /** A level that is back after fewer sweeps is a burst. */
  burstSweeps: 5,
  /** Back: within this share of the shift. */
  backShare: 0.35,
  /** Similar: offsets within this share of the shift, or one deviation. */
  similarShare: 0.25,
  /** A newest level is a known state as long as it is no older than this many times the longest stay. */
  stayFactor: 1.5,
  /** Clock: tried when it moves by this much, kept when it reduces differences between sweeps by this factor. */
  clockMoves: 0.003,
  clockGain: 0.8,
  /** Or when it reduces the differences at its switches, of which there are at least this many, by this factor. */
  leastSwitches: 3,
  switchGain: 0.5,
} as const;

/** When a change in a growing history is known to last. */
export const ALERTING = {
  /** This many sweeps are looked at: older ones say nothing of the newest one, and the level before the newest change is in them. */
  windowSweeps: 240,
  firstSweep: 20,
  looks: 2,
  /** An older place counts only when it stays this many sweeps running. */
  freshSweeps: 6,
  oldLooks: 6,
  sameSweeps: 3,
  /** A place may move by this from sweep to sweep. */
  moveSweeps: 1,
  /** Where the cell was for some sweeps before it lasts from this age on, or longer than that. */
  visitedAge: 7,
} as const;

/** As many sweeps of a series say its noise. */
export const NEWEST_SWEEPS = 60;
