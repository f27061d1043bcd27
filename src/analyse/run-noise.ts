import { differences, medianIn, scaleOf } from './history/order-statistics.ts';
import { median } from '../domain/median.ts';
import { quantileSorted } from '../domain/quantile.ts';

/** How much single runs of one cell scatter, in squared logarithms. */
export interface NoiseEstimate {
  readonly variance: number;
  readonly degrees: number;
  /** Where the number comes from when the cell's own runs cannot say it; null when they can. */
  readonly assumed: string | null;
}

interface TwoSides {
  readonly base: readonly number[];
  readonly head: readonly number[];
  /** Values of earlier nights at the same level, one a night. */
  readonly past?: readonly number[];
}

/** Weight of the matrix's typical variance beside the cell's own, in runs (Smyth 2004: moderated variance). */
const PRIOR_DEGREES = 4;
/** Weight of the cell's own earlier nights, in runs, and how many of them say anything. */
const PAST_DEGREES = 14;
export const LEAST_PAST_NIGHTS = 8;
/** Runs that are equal to the last digit still have the resolution of the timer between them. */
const LEAST_VARIANCE = 1e-12;
/** From so many cells on their differences say how single runs scatter. */
const CELLS_FOR_NOISE = 5;
/** Without repeats, history or other cells: between the steadiest and the wildest cells of the recorded nights. */
const ASSUMED_SIGMA = 0.01;

/**
 * The run-to-run noise of each cell. With repeats the variance of a cell is drawn towards that of the whole matrix, so
 * that three runs are worth more than three; without repeats it is taken from how much all cells differ between the
 * sides, generously, as most of them did not change.
 */
export function estimateNoise(cells: readonly TwoSides[]): NoiseEstimate[] {
  const pooled = cells.map(pooledVariance);
  const repeated = pooled.filter(({ degrees }) => degrees > 0);
  const typical = typicalVariance(repeated);
  const fallback = withoutRepeats(cells);
  return pooled.map((own, index) => {
    const past = pastVariance(cells[index]?.past ?? []);
    if (own.degrees === 0 && past === null) {
      return typical === null
        ? fallback
        : {
            variance: typical,
            degrees: PRIOR_DEGREES,
            assumed: 'noise taken from the other cells',
          };
    }
    const parts = [
      { variance: typical ?? past ?? own.variance, degrees: PRIOR_DEGREES },
      own,
      ...(past === null ? [] : [{ variance: past, degrees: PAST_DEGREES }]),
    ];
    const degrees = parts.reduce((sum, part) => sum + part.degrees, 0);
    const weighed = parts.reduce((sum, part) => sum + part.degrees * part.variance, 0);
    return { variance: weighed / degrees, degrees, assumed: null };
  });
}

/** Of single runs around the mean of their own side; no degrees of freedom where no side has two. */
export function pooledVariance({ base, head }: Pick<TwoSides, 'base' | 'head'>): {
  variance: number;
  degrees: number;
} {
  const degrees = Math.max(0, base.length - 1) + Math.max(0, head.length - 1);
  if (degrees === 0) return { variance: 0, degrees: 0 };
  const variance = (squaresAround(base) + squaresAround(head)) / degrees;
  return { variance: Math.max(variance, LEAST_VARIANCE), degrees };
}

/** The largest of three measures of how nights differ: a quiet core with wild nights is not quiet. Null when too few. */
function pastVariance(past: readonly number[]): number | null {
  if (past.length < LEAST_PAST_NIGHTS) return null;
  const logs = Float64Array.from(past, Math.log);
  const centre = medianIn(logs, 0, logs.length);
  const apart = logs.map((value) => Math.abs(value - centre));
  const deviation = 1.4826 * medianIn(apart, 0, apart.length);
  const spread = Math.sqrt(squaresAround(past) / past.length);
  return Math.max(deviation, scaleOf(differences(logs, 1), 0.75), spread) ** 2;
}

function squaresAround(values: readonly number[]): number {
  const logs = values.map(Math.log);
  const mean = logs.reduce((sum, value) => sum + value, 0) / logs.length;
  return logs.reduce((sum, value) => sum + (value - mean) ** 2, 0);
}

/** Median of the variances in logarithms, corrected for the skew of a chi-square (Wilson and Hilferty 1931). */
function typicalVariance(
  repeated: readonly { readonly variance: number; readonly degrees: number }[],
): number | null {
  const logVariance = median(repeated.map(({ variance }) => Math.log(variance)));
  const degrees = median(repeated.map((entry) => entry.degrees));
  if (logVariance === null || degrees === null) return null;
  return Math.exp(logVariance) / (1 - 2 / (9 * degrees)) ** 3;
}

function withoutRepeats(cells: readonly TwoSides[]): NoiseEstimate {
  const changes = cells.map(({ base, head }) => Math.log(head[0] ?? 1) - Math.log(base[0] ?? 1));
  const centre = median(changes) ?? 0;
  if (cells.length < CELLS_FOR_NOISE) {
    const assumed = `noise assumed to be ${ASSUMED_SIGMA * 100} %, as nothing says it`;
    return { variance: ASSUMED_SIGMA ** 2, degrees: PRIOR_DEGREES, assumed };
  }
  const apart = changes.map((value) => Math.abs(value - centre)).toSorted((a, b) => a - b);
  // 1.645 standard deviations hold 90 % of a normal; a difference has the noise of two runs.
  const sigma = quantileSorted(apart, 0.9) / (1.645 * Math.SQRT2);
  return {
    variance: Math.max(sigma ** 2, LEAST_VARIANCE),
    degrees: cells.length - 1,
    assumed: 'noise taken from how much all cells differ',
  };
}
