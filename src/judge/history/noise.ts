import { at, differences, medianIn, middleOf, scaleOf } from '../../statistics/order-statistics.ts';

/** Null for an unknown value; undefined if it is unknown for all sweeps. */
type Known<Fact> = readonly (Fact | null)[] | undefined;

export interface CellHistory {
  /** Index of each measured sweep, ascending. Sweeps without a value count. */
  readonly places: readonly number[];
  readonly values: Float64Array;
  readonly clock?: Known<number>;
  /** The build that ran; `sources` identifies its inputs, which may give other tactics in another build. */
  readonly builds?: Known<string>;
  readonly sources?: Known<string>;
}

const LEAST_SIGMA = 1e-6;

/** True when a level begins with another build of the same sources: other tactics, not other code. */
export function isBuildLuck({ builds = [], sources = [], values }: CellHistory, index: number): boolean {
  const stepOf = (before: number, after: number): number => Math.log(at(values, after) / at(values, before));
  const rebuilt = [index - 1, index, index + 1].filter((place) => {
    const [before = null, after = null] = [builds[place - 1], builds[place]];
    if (before === null || after === null || before === after) return false;
    // A new build that first ran at the old level is not the cause.
    const step = stepOf(Math.max(0, index - 2), Math.min(values.length - 1, index + 1));
    return !(stepOf(place - 1, place) / step < 0.5);
  });
  const isSame = (place: number): boolean => (sources[place] ?? null) !== null && sources[place - 1] === sources[place];
  return rebuilt.length > 0 && rebuilt.every(isSame);
}

export function logsOf({ values, clock = [] }: CellHistory): Float64Array {
  const logs = values.map(Math.log);
  // Cycles need the clock of every sweep.
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

export function noiseOf(logs: Float64Array) {
  const raw = differences(logs, 1);
  const limit = HISTORY.clip * Math.max(scaleOf(raw, 0.5), 0.75 * scaleOf(raw, 0.75), LEAST_SIGMA);
  // Hampel's filter (Hampel 1974): it removes single outliers and keeps levels that last.
  const clipped = logs.map((value, sweep) => {
    const from = Math.max(0, sweep - HISTORY.clipHalf);
    const middle = medianIn(logs, from, Math.min(logs.length, sweep + HISTORY.clipHalf + 1));
    return Math.min(Math.max(value, middle - limit), middle + limit);
  });
  const neighbors = differences(clipped, 1);
  const sigma = Math.max(scaleOf(neighbors, 0.5), scaleOf(neighbors, 0.75), LEAST_SIGMA);
  // A lag of a fifth of a short series or more would measure its steps: two are crossed by twice as many differences.
  const lags = [3, 5, 8].filter((lag) => clipped.length > 5 * lag);
  const slow = lags.map((lag) => scaleOf(differences(clipped, lag), 0.5) / sigma);
  return { clipped, sigma, slowFactor: Math.max(1, ...slow) };
}

/** Parameters of the history detector, tuned on simulated histories (benchmarks/detection/README.md). */
export const HISTORY = {
  leastSweeps: 8,
  /** Penalty per boundary, multiplied by the square of `slowFactor` and the log of the number of sweeps. */
  penalty: 7.5,
  leastLevel: 3,
  /** Largest distance of a clipped sweep from the median of its neighbors, in standard deviations. */
  clip: 3,
  clipHalf: 3,
  /** A boundary has margin 1 at this many standard errors. */
  leastErrors: 3,
  /** Ratio of the standard error of a difference of medians to that of means. */
  medianError: 1.25,
  /** A boundary has margin 1 at this many standard deviations. */
  leastDeviations: 0.85,
  /** A boundary has margin 1 at this relative change. */
  leastChange: 0.003,
  /** Least noise of a level, as a share of the noise of the series. */
  noiseShare: 0.7,
  /** Sweeps on either side of a boundary from which the noise of the levels is taken. */
  near: 30,
  levelSweeps: 6,
  /** Rank test: largest and smallest number of raw values per side, and the p value. */
  rankSweeps: 24,
  leastRankSweeps: 6,
  rankP: 0.01,
  /** Known states: least distance in standard deviations, longest stay, and least number of earlier visits. */
  stateDeviations: 4,
  stateSweeps: 30,
  stateVisits: 2,
  /** If the level returns after fewer sweeps than this, the change was a burst. */
  burstSweeps: 5,
  /** A level has returned if it is within this share of the shift. */
  backShare: 0.35,
  /** Offsets are similar within this share of the shift, or one standard deviation. */
  similarShare: 0.25,
  /** The clock is used if it changes by this much, and reduces differences between sweeps to this share, */
  clockMoves: 0.003,
  clockGain: 0.8,
  /** or those at its changes, of which there must be at least this many, to this share. */
  leastSwitches: 3,
  switchGain: 0.5,
} as const;

/** Rules for the time at which a change in a growing history is known to last. */
export const ALERTING = {
  windowSweeps: 240,
  firstSweep: 20,
  looks: 2,
  /** An older change point counts only if it stays for this many consecutive sweeps. */
  freshSweeps: 6,
  oldLooks: 6,
  sameSweeps: 3,
} as const;

/** Number of sweeps of a series from which its noise is taken. */
export const NEWEST_SWEEPS = 60;
