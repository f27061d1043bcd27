import type { GeometricMean } from '../records/verdict.ts';
import { median } from '../statistics/order-statistics.ts';
import type { CellHistory } from './history/noise.ts';
import { percentOfLog, tQuantile } from '../statistics/special-functions.ts';
import type { SampleVariance } from '../statistics/variance-prior.ts';

/** Head over base in one cell. */
export interface CellRatio {
  /** Natural log of head over base; null if a side failed or is missing. */
  readonly logRatio: number | null;
  /** Noise of the log ratio, from its runs and its own sweeps; null if unknown. */
  readonly noise: SampleVariance | null;
  /** True if the noise comes from other cells, so that its error is the same in all of them. */
  readonly isBorrowed?: boolean;
}

const UNCERTAINTY = 0.05;

/** Geometric mean of head over base with its interval, for these cells only. */
export function geometricMean(cells: readonly CellRatio[], shared: SampleVariance): GeometricMean | null {
  const known = cells.filter(({ logRatio }) => logRatio !== null && Number.isFinite(logRatio));
  if (known.length === 0) return null;
  const mean = known.reduce((sum, { logRatio }) => sum + (logRatio ?? 0), 0) / known.length;
  const noises = known.filter(({ isBorrowed }) => isBorrowed !== true).flatMap(({ noise }) => noise ?? []);
  const borrowed = known.filter(({ isBorrowed }) => isBorrowed === true).flatMap(({ noise }) => noise ?? []);
  const isKnown = noises.length + borrowed.length === known.length;
  const share = 1 / known.length ** 2;
  // Borrowed variances have errors with a common factor, so that they are one term.
  const sum = borrowed.reduce((total, { variance }) => total + variance, 0);
  const joined = { variance: sum, degrees: Math.min(Infinity, ...borrowed.map(({ degrees }) => degrees)) };
  const terms = [shared, ...[...noises, joined].map((term) => ({ ...term, variance: term.variance * share }))];
  // Independent terms (degrees of freedom: Satterthwaite 1946).
  const variance = terms.reduce((total, term) => total + term.variance, 0);
  const degrees = variance ** 2 / terms.reduce((total, term) => total + term.variance ** 2 / term.degrees, 0);
  const reach = variance === 0 ? 0 : tQuantile(UNCERTAINTY, degrees) * Math.sqrt(variance);
  return {
    changePercent: percentOfLog(mean),
    ciPercent: isKnown ? [percentOfLog(mean - reach), percentOfLog(mean + reach)] : null,
    cells: known.length,
    leftOut: cells.length - known.length,
  };
}

const SHARED = {
  /** Prior standard deviation of the effect of a sweep on all cells, on the log scale. */
  sigma: 0.001,
  /** Degrees of freedom of the prior; `steps` is its weight in steps. */
  degrees: 4,
  steps: 6,
  /** With fewer cells, the median change is that of a cell rather than of the sweep. */
  leastCells: 4,
  /** Degrees of freedom of each step: 0.37 for a median relative to a mean square, less because steps overlap. */
  degreesOfStep: 0.25,
} as const;

/** Both sides are from one sweep, or were measured in turns. */
export const NO_SHARED_NOISE: SampleVariance = { variance: 0, degrees: Infinity };

/** Noise of the difference of two sweeps that affects all cells at once, such as that of clocks and temperature. */
export function sharedNoise(histories: readonly CellHistory[]): SampleVariance {
  const byPlace = histories.map((history) => valuesByPlace(history));
  const sweeps = Math.max(1, ...byPlace.map(({ length }) => length));
  const steps = Array.from({ length: sweeps - 1 }, (_, sweep) => stepOf(byPlace, sweep)).flatMap((step) => step ?? []);
  const size = 1.4826 * (median(steps.map(({ change }) => Math.abs(change))) ?? 0);
  const byCells = median(steps.map(({ variance }) => variance)) ?? 0;
  const seen = Math.max(0, size ** 2 - byCells);
  const variance = (SHARED.steps * 2 * SHARED.sigma ** 2 + steps.length * seen) / (SHARED.steps + steps.length);
  const degrees = SHARED.degrees + SHARED.degreesOfStep * steps.length;
  return { variance, degrees };
}

/** The values of a history, with null for sweeps without one. */
export function valuesByPlace({ places, values }: CellHistory, length: number = (places.at(-1) ?? -1) + 1) {
  const byPlace = new Map(places.map((place, index) => [place, values[index] ?? null]));
  return Array.from({ length }, (_, place) => byPlace.get(place) ?? null);
}

/** Median change from one sweep to the next on the log scale, and its variance from the spread of the cells. */
function stepOf(histories: readonly (readonly (number | null)[])[], sweep: number) {
  const changes = histories.flatMap((values) => {
    const [before = null, after = null] = [values[sweep], values[sweep + 1]];
    return before === null || after === null ? [] : [Math.log(after / before)];
  });
  const change = median(changes);
  if (change === null || changes.length < SHARED.leastCells) return null;
  const apart = 1.4826 * (median(changes.map((value) => Math.abs(value - change))) ?? 0);
  // 1.571: ratio of the variance of a median to that of a mean, for normal values.
  return { change, variance: (1.571 * apart ** 2) / changes.length };
}
