import { at } from '../../statistics/at.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import type { NoisyCell } from './output.ts';
import { timerNoise } from './timer-noise.ts';

/** Levels in the unit of the metric. */
export type TwoStates = NonNullable<NoisyCell['twoStates']>;

/**
 * Tuned by simulation: one in a thousand cells without states is mistaken for one with, slightly more where runs are
 * few.
 */
const RULE = {
  leastRuns: 12,
  /** Either level has at least this many of the runs, and was come to so often. */
  leastShare: 0.2,
  leastVisits: 3,
  /** Distance of the levels in standard deviations within them: this many, and more where the cell jumped rarely. */
  apart: 4,
  apartForVisits: 25,
  /** The gap between them, in the same unit. */
  gap: 1,
  /** Of the runs, this many at either end say nothing of the spread: outliers. */
  outliers: 0.05,
  leastPercent: 0.5,
} as const;

/** Relative; of values that are all equal. */
const LEAST_NOISE = 1e-6;

interface Cut {
  readonly low: number;
  /** In standard deviations within the levels. */
  readonly gap: number;
  readonly apart: number;
  readonly levels: readonly [number, number];
}

/**
 * The two levels between which a cell jumps; null when it has one. A lasting change does not count: both levels must be
 * left and entered again. Nor do a level in between, noise with a long tail, or a coarse timer.
 * @param values positive, in the order measured
 */
export function findTwoStates(values: readonly number[]): TwoStates | null {
  if (values.length < RULE.leastRuns) return null;
  const sorted = Float64Array.from(values, Math.log).toSorted();
  const sums = sumsOf(sorted);
  const floor = Math.max(LEAST_NOISE, timerNoise(values));
  const least = Math.max(RULE.leastVisits, Math.ceil(RULE.leastShare * sorted.length));
  let cut = cutAt(sorted, sums, least, floor);
  for (let low = least + 1; low <= sorted.length - least; low += 1) {
    const other = cutAt(sorted, sums, low, floor);
    if (other.gap > cut.gap) cut = other;
  }
  const visits = countVisits(values, at(sorted, cut.low));
  const found = describe(cut, sorted.length, visits);
  const rare = RULE.apartForVisits / (visits[0] + visits[1]);
  const isClear =
    cut.gap >= RULE.gap &&
    cut.apart >= RULE.apart + rare &&
    Math.min(...visits) >= RULE.leastVisits &&
    found.apartPercent >= RULE.leastPercent;
  return isClear ? found : null;
}

/** Prefix sums of values and squares, around the middle so that no digits are lost. */
interface Sums {
  readonly centre: number;
  readonly plain: Float64Array;
  readonly squared: Float64Array;
}

function sumsOf(sorted: Float64Array): Sums {
  const centre = at(sorted, sorted.length >> 1);
  const plain = new Float64Array(sorted.length + 1);
  const squared = new Float64Array(sorted.length + 1);
  for (const [place, value] of sorted.entries()) {
    const apart = value - centre;
    plain[place + 1] = at(plain, place) + apart;
    squared[place + 1] = at(squared, place) + apart * apart;
  }
  return { centre, plain, squared };
}

function cutAt(sorted: Float64Array, sums: Sums, low: number, floor: number): Cut {
  const outliers = Math.floor(RULE.outliers * sorted.length);
  const below = levelOf(sums, outliers, low);
  const above = levelOf(sums, low, sorted.length - outliers);
  const degrees = sorted.length - 2 * outliers - 2;
  const sigma = Math.max(Math.sqrt((below.squares + above.squares) / degrees), floor);
  return {
    low,
    gap: (at(sorted, low) - at(sorted, low - 1)) / sigma,
    apart: (above.mean - below.mean) / sigma,
    levels: [below.mean, above.mean],
  };
}

/** Mean of `[from, to)`, and the sum of squares around it. */
function levelOf({ centre, plain, squared }: Sums, from: number, to: number) {
  const sum = at(plain, to) - at(plain, from);
  const squares = at(squared, to) - at(squared, from) - (sum * sum) / (to - from);
  return { mean: centre + sum / (to - from), squares: Math.max(0, squares) };
}

/** @param upper log of the least value of the upper level */
function countVisits(values: readonly number[], upper: number): readonly [number, number] {
  const visits: [number, number] = [0, 0];
  let before: boolean | null = null;
  for (const value of values) {
    const isHigh = Math.log(value) >= upper;
    if (isHigh !== before) visits[isHigh ? 1 : 0] += 1;
    before = isHigh;
  }
  return visits;
}

function describe({ low, levels }: Cut, runs: number, visits: readonly [number, number]): TwoStates {
  const share = (100 * low) / runs;
  return {
    levels: [Math.exp(levels[0]), Math.exp(levels[1])],
    apartPercent: percentOfLog(levels[1] - levels[0]),
    sharePercent: [share, 100 - share],
    visits,
  };
}
