import { median } from '../statistics/median.ts';
import { quantileSorted } from '../statistics/quantile.ts';
import type { NoiseSource } from '../records/verdict.ts';
import { type SampleVariance, typicalVariance, variancePrior } from '../statistics/variance-prior.ts';

/** Variance of single runs on the log scale. */
export interface NoiseEstimate {
  readonly variance: number;
  /** Degrees of freedom for Student's t. */
  readonly degrees: number;
  /** Source of the variance if it is not the cell's own; else null. */
  readonly assumed: string | null;
  readonly from: NoiseSource;
  readonly nights: number;
  /**
   * Excess of the variance implied by past sweeps over `variance`, per run. Negative if sweeps vary less; 0 without a
   * past.
   */
  readonly beyond: number;
}

/** Two sides with one positive value per run, the unit of evidence. */
export interface NoisySides {
  readonly base: readonly number[];
  readonly head: readonly number[];
  /** Values of earlier sweeps at the level of the base, for the sweep effect. */
  readonly past?: readonly number[];
  /** Cells of one kind have similar noise, such as cells with or without a CUDA graph. */
  readonly kind?: string;
}

export const LEAST_PAST_NIGHTS = 8;
const LEAST_VARIANCE = 1e-12;
/** Least number of cells of a kind from which their noise is estimated. */
const CELLS_FOR_NOISE = 5;
/**
 * Standard deviation without repeats, history or other cells: between the quietest and the noisiest cells of the
 * recorded sweeps.
 */
export const ASSUMED_SIGMA = 0.01;
const ASSUMED_DEGREES = 4;

const UNKNOWN: NoiseEstimate = {
  variance: ASSUMED_SIGMA ** 2,
  degrees: ASSUMED_DEGREES,
  assumed: `noise assumed to be ${ASSUMED_SIGMA * 100} %, as nothing says it`,
  from: 'assumed',
  nights: 0,
  beyond: 0,
};

/**
 * Run noise of each cell. With repeats, the variance of a cell is shrunk towards that of its kind, or of its own
 * earlier sweeps if there are any. Without repeats, it is estimated generously from the differences between the sides
 * over the cells of its kind, most of which did not change.
 */
export function estimateNoise(cells: readonly NoisySides[]): (cell: NoisySides) => NoiseEstimate {
  const kindOf = ({ kind = '' }: NoisySides): string => kind;
  const all = ofOthers(cells);
  const byKind = new Map([...Map.groupBy(cells, kindOf)].map(([kind, own]) => [kind, ofOthers(own)]));
  const estimateOf = (cell: NoisySides): NoiseEstimate => {
    const kind = byKind.get(kindOf(cell)) ?? all;
    const prior = kind.prior ?? all.prior;
    const own = pooledVariance(cell);
    const { past: values = [] } = cell;
    const past = values.length < LEAST_PAST_NIGHTS ? null : pastVariance(values);
    const known = { assumed: null, nights: past === null ? 0 : values.length, beyond: 0 };
    if (own.degrees === 0)
      return past === null ? (kind.unrepeated ?? all.unrepeated ?? UNKNOWN) : { ...past, ...known, from: 'nights' };
    if (past === null) return { ...(prior === null ? own : moderated(own, prior)), ...known, from: 'runs' };
    const noise = pooled([own, past], cell.base.length + cell.head.length);
    return { ...noise, ...known, beyond: past.variance - noise.variance, from: 'runsAndNights' };
  };
  const estimates = new Map(cells.map((cell) => [cell, estimateOf(cell)]));
  return (cell) => estimates.get(cell) ?? UNKNOWN;
}

/**
 * `prior` from the cells with repeats, and `unrepeated`, the noise of a cell without repeats; null if there are too few
 * cells.
 */
function ofOthers(cells: readonly NoisySides[]) {
  const repeated = cells.map(pooledVariance).filter(({ degrees }) => degrees > 0);
  const typical = typicalVariance(repeated);
  const fromOthers = { assumed: 'noise taken from the other cells', from: 'otherCells' } as const;
  return {
    prior: variancePrior(repeated),
    unrepeated: typical === null ? withoutRepeats(cells) : { ...UNKNOWN, ...fromOthers, variance: typical },
  };
}

/** With this many times the typical variance, a cell is of another sort, and the prior counts less. */
const WILD_RATIO = 2;

function moderated(own: SampleVariance, prior: SampleVariance): SampleVariance {
  const share = Math.min(1, (WILD_RATIO * prior.variance) / own.variance);
  return pooled([own, { ...prior, degrees: prior.degrees * share }]);
}

/**
 * Mean weighted by degrees of freedom, with those of the second limited to `most`. Resulting degrees: Satterthwaite
 * 1946.
 */
function pooled([a, b]: readonly [SampleVariance, SampleVariance], most = Infinity): SampleVariance {
  const weight = Math.min(b.degrees, most);
  const sum = a.degrees + weight;
  return {
    variance: (a.degrees * a.variance + weight * b.variance) / sum,
    degrees: sum ** 2 / (a.degrees + weight ** 2 / b.degrees),
  };
}

function pooledVariance({ base, head }: Pick<NoisySides, 'base' | 'head'>): SampleVariance {
  const degrees = Math.max(0, base.length - 1) + Math.max(0, head.length - 1);
  if (degrees === 0) return { variance: 0, degrees: 0 };
  const variance = (squaresAround(base) + squaresAround(head)) / degrees;
  return { variance: Math.max(variance, LEAST_VARIANCE), degrees };
}

const PAST = {
  /** Share of sweeps at each end that may have any value, because a single disturbance is not noise. */
  share: 0.15,
  /** Distance between the quantiles of both shares, in standard deviations of the normal distribution. */
  deviations: 2 * 1.0364,
  /** Degrees of freedom of a distance of quantiles, relative to those of a mean square. */
  degrees: 0.7,
} as const;

/** Variance from the distance of two quantiles (Pearson and Tukey 1965). */
function pastVariance(past: readonly number[]): SampleVariance {
  const logs = past.map(Math.log).toSorted((a, b) => a - b);
  const [low, high] = [quantileSorted(logs, PAST.share), quantileSorted(logs, 1 - PAST.share)];
  const variance = ((high - low) / PAST.deviations) ** 2;
  return { variance: Math.max(variance, LEAST_VARIANCE), degrees: PAST.degrees * (past.length - 1) };
}

/** Sum of squares of the logarithms around their mean. */
export function squaresAround(values: readonly number[]): number {
  const logs = values.map(Math.log);
  const mean = logs.reduce((sum, value) => sum + value, 0) / logs.length;
  return logs.reduce((sum, value) => sum + (value - mean) ** 2, 0);
}

function withoutRepeats(cells: readonly NoisySides[]): NoiseEstimate | null {
  const changes = cells.flatMap(({ base: [before], head: [after] }) =>
    before === undefined || after === undefined ? [] : [Math.log(after) - Math.log(before)],
  );
  if (changes.length < CELLS_FOR_NOISE) return null;
  const centre = median(changes) ?? 0;
  const apart = changes.map((value) => Math.abs(value - centre)).toSorted((a, b) => a - b);
  // 90 % of a normal distribution lie within 1.645 standard deviations, and a difference has the noise of two runs.
  const sigma = quantileSorted(apart, 0.9) / (1.645 * Math.SQRT2);
  return {
    ...UNKNOWN,
    variance: Math.max(sigma ** 2, LEAST_VARIANCE),
    degrees: changes.length - 1,
    assumed: 'noise taken from how much cells differ',
    from: 'otherCells',
  };
}
