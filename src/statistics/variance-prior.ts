import { median } from './order-statistics.ts';
import { logGamma } from './special-functions.ts';

export interface SampleVariance {
  readonly variance: number;
  readonly degrees: number;
}

/** Number of variances needed to estimate their spread. */
const LEAST_CELLS = 3;
/** Possible degrees of freedom of a prior, from cells that differ by factors to cells that are all equal. */
const DEGREES = [0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64] as const;
/** Prior of those degrees on the log scale: recorded matrices have cells with 0.1 % and with 2 % of noise. */
const BELIEF = { degrees: 2, spread: 1.5 } as const;

/**
 * Prior of a cell's variance from those of all cells: the typical variance, with the likeliest degrees of freedom of an
 * inverse chi-square (moderated variance: Smyth 2004, whose closed form fails for few or erratic cells). Null for fewer
 * than three cells.
 */
export function variancePrior(samples: readonly SampleVariance[]): SampleVariance | null {
  const variance = typicalVariance(samples);
  if (variance === null || samples.length < LEAST_CELLS) return null;
  const scored = DEGREES.map((degrees) => {
    const belief = -0.5 * (Math.log(degrees / BELIEF.degrees) / BELIEF.spread) ** 2;
    return { degrees, score: logLikelihood(samples, { variance, degrees }) + belief };
  });
  const best = scored.reduce((a, b) => (b.score > a.score ? b : a));
  return { variance, degrees: best.degrees };
}

/** Ratios of samples to the variance of the prior have an F distribution; constant terms are omitted. */
function logLikelihood(samples: readonly SampleVariance[], prior: SampleVariance): number {
  const { degrees } = prior;
  const normalizers = new Map<number, number>();
  return samples.reduce((sum, one) => {
    let normalizer = normalizers.get(one.degrees);
    if (normalizer === undefined) {
      normalizer = logGamma((one.degrees + degrees) / 2) - logGamma(degrees / 2);
      normalizers.set(one.degrees, normalizer);
    }
    const ratio = (one.degrees * one.variance) / (degrees * prior.variance);
    const density = (one.degrees / 2) * Math.log(ratio) - ((one.degrees + degrees) / 2) * Math.log1p(ratio);
    return sum + normalizer + density;
  }, 0);
}

/**
 * The typical variance: the median of the log variances, corrected for the skew of a chi-square (Wilson and Hilferty
 * 1931).
 */
export function typicalVariance(samples: readonly SampleVariance[]): number | null {
  const logVariance = median(samples.map(({ variance }) => Math.log(variance)));
  const degrees = median(samples.map((entry) => entry.degrees));
  if (logVariance === null || degrees === null) return null;
  return Math.exp(logVariance) / (1 - 2 / (9 * degrees)) ** 3;
}
