import { median } from './median.ts';
import { quantileSorted } from './quantile.ts';

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
}

/** Weight of the matrix's typical variance beside the cell's own, in runs (Smyth 2004: moderated variance). */
const PRIOR_DEGREES = 4;
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
  return pooled.map(({ variance, degrees }) => {
    if (degrees === 0) {
      return typical === null
        ? fallback
        : {
            variance: typical,
            degrees: PRIOR_DEGREES,
            assumed: 'noise taken from the other cells',
          };
    }
    const prior = typical ?? variance;
    return {
      variance: (PRIOR_DEGREES * prior + degrees * variance) / (PRIOR_DEGREES + degrees),
      degrees: PRIOR_DEGREES + degrees,
      assumed: null,
    };
  });
}

function pooledVariance({ base, head }: TwoSides): { variance: number; degrees: number } {
  const degrees = base.length + head.length - 2;
  if (degrees <= 0) return { variance: 0, degrees: 0 };
  const variance = (squaresAround(base) + squaresAround(head)) / degrees;
  return { variance: Math.max(variance, LEAST_VARIANCE), degrees };
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
  const differences = cells.map(
    ({ base, head }) => Math.log(head[0] ?? 1) - Math.log(base[0] ?? 1),
  );
  const centre = median(differences) ?? 0;
  if (cells.length < CELLS_FOR_NOISE) {
    const assumed = `noise assumed to be ${ASSUMED_SIGMA * 100} %, as nothing says it`;
    return { variance: ASSUMED_SIGMA ** 2, degrees: PRIOR_DEGREES, assumed };
  }
  const apart = differences.map((value) => Math.abs(value - centre)).toSorted((a, b) => a - b);
  // 1.645 standard deviations hold 90 % of a normal; a difference has the noise of two runs.
  const sigma = quantileSorted(apart, 0.9) / (1.645 * Math.SQRT2);
  return {
    variance: Math.max(sigma ** 2, LEAST_VARIANCE),
    degrees: cells.length - 1,
    assumed: 'noise taken from how much all cells differ',
  };
}
