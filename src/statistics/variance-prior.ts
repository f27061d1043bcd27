import { median } from './median.ts';
import { logGamma } from './special-functions.ts';

/** A sample variance and its degrees of freedom, more than 0. */
export interface SampleVariance {
  readonly variance: number;
  readonly degrees: number;
}

/** Fewer variances say nothing of how variances differ. */
const LEAST_CELLS = 3;
/** Degrees of freedom that a prior may have, from cells that differ by factors to cells that are all equal. */
const DEGREES = [0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64] as const;
/**
 * What is believed of those degrees before anything is seen, on a logarithmic scale: recorded matrices have cells with
 * 0.1 % and with 2 % of noise.
 */
const BELIEF = { degrees: 2, spread: 1.5 } as const;

/**
 * What the variances of all cells say of the variance of one of them before it is measured: the typical one, with the
 * degrees of freedom of an inverse chi-square under which they are likeliest (moderated variance: Smyth 2004, whose
 * closed
 * form does not bear few or wild cells). Null for fewer than three.
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

/** Of the samples, each over the prior's variance with an F distribution; terms that no prior changes are left out. */
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

/** Median of the variances in logarithms, corrected for the skew of a chi-square (Wilson and Hilferty 1931). */
export function typicalVariance(samples: readonly SampleVariance[]): number | null {
  const logVariance = median(samples.map(({ variance }) => Math.log(variance)));
  const degrees = median(samples.map((entry) => entry.degrees));
  if (logVariance === null || degrees === null) return null;
  return Math.exp(logVariance) / (1 - 2 / (9 * degrees)) ** 3;
}
