import type { NoiseSource } from '../records/verdict.ts';
import { differences, median, medianIn, quantileSorted, scaleOf } from '../statistics/order-statistics.ts';
import { meanLog, momentsOf, percentOfLog, tQuantile } from '../statistics/special-functions.ts';
import { type SampleVariance, typicalVariance, variancePrior } from '../statistics/variance-prior.ts';
import { findChangePoints } from './history/lasting-changes.ts';
import type { CellHistory } from './history/noise.ts';

/** Variance of single runs on the log scale. */
export interface NoiseEstimate extends SampleVariance {
  /** Source of the variance if it is not the cell's own; else null. */
  readonly assumed: string | null;
  readonly from: NoiseSource;
  readonly sweeps: number;
  /** Excess of the variance implied by past sweeps over `variance`, per run. */
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

export const LEAST_PAST_SWEEPS = 8;
const LEAST_VARIANCE = 1e-12;
/** Least number of cells of a kind from which their noise is estimated. */
const CELLS_FOR_NOISE = 5;
/** Without repeats, history or other cells: between the quietest and the noisiest cells of the recorded sweeps. */
export const ASSUMED_SIGMA = 0.01;
/** Degrees of freedom of this value where nothing is known, and its weight in a latency search. */
export const ASSUMED_DEGREES = 4;

const UNKNOWN: NoiseEstimate = {
  variance: ASSUMED_SIGMA ** 2,
  degrees: ASSUMED_DEGREES,
  assumed: `noise assumed to be ${ASSUMED_SIGMA * 100} %, because it is unknown`,
  from: 'assumed',
  sweeps: 0,
  beyond: 0,
};

export function estimateNoise(cells: readonly NoisySides[]): (cell: NoisySides) => NoiseEstimate {
  const all = ofOthers(cells);
  const byKind = new Map([...Map.groupBy(cells, ({ kind }) => kind)].map(([kind, own]) => [kind, ofOthers(own)]));
  return (cell) => {
    const others = byKind.get(cell.kind) ?? all;
    const prior = others.prior ?? all.prior;
    const own = pooledVariance(cell);
    const { past: values = [] } = cell;
    const past = values.length < LEAST_PAST_SWEEPS ? null : pastVariance(values);
    const known = { assumed: null, sweeps: past === null ? 0 : values.length, beyond: 0 };
    if (own.degrees === 0)
      return past === null ? (others.unrepeated ?? all.unrepeated ?? UNKNOWN) : { ...past, ...known, from: 'nights' };
    if (past === null) return { ...(prior === null ? own : moderated(own, prior)), ...known, from: 'runs' };
    const noise = pooled([own, past], cell.base.length + cell.head.length);
    return { ...noise, ...known, beyond: past.variance - noise.variance, from: 'runsAndNights' };
  };
}

/** The prior from cells with repeats, and the noise of a cell without repeats; null if there are too few cells. */
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

/** Mean weighted by degrees of freedom, those of the second limited to `most` (degrees: Satterthwaite 1946). */
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
  return momentsOf(values.map(Math.log)).squares;
}

/** Distance of a run from the median of its side, in deviations of the other runs, at which it is left out. */
const FAR_DEVIATIONS = 6;

/** The runs of a side without one that is far from all others. */
export function withoutFarRun(runs: readonly number[]): readonly number[] {
  const middle = median(runs) ?? 1;
  const distanceOf = (run: number): number => Math.abs(Math.log(run / middle));
  const [far = middle, ...rest] = runs.toSorted((a, b) => distanceOf(b) - distanceOf(a));
  if (rest.length < 2) return runs;
  const deviation = Math.sqrt(squaresAround(rest) / (rest.length - 1) + ASSUMED_SIGMA ** 2);
  return distanceOf(far) > FAR_DEVIATIONS * deviation ? rest : runs;
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
    assumed: 'noise estimated from the differences between cells',
    from: 'otherCells',
  };
}

/** Number of sweeps searched for steps. Of those at their level, the newest `PAST_SWEEPS` count. */
export const PAST_WINDOW_SWEEPS = 40;
const PAST_SWEEPS = 24;
/** A level equals that of the base within this many standard deviations of a sweep, or within `least`. */
const SAME_LEVEL = { deviations: 4, least: 0.005 } as const;

type Past = { readonly history: CellHistory; readonly runs: readonly (readonly unknown[])[] };

/** Values of earlier sweeps at the level of the base: their noise limits a comparison with any number of runs. */
export function pastValues({ history, runs }: Past, base: readonly number[]): number[] {
  if (base.length === 0) return [];
  const baseLog = meanLog(base);
  const typicalRuns = median(runs.map(({ length }) => length)) ?? 1;
  const fewer = Math.sqrt(Math.max(1, typicalRuns / base.length));
  const all = history.values.map(Math.log);
  const starts = [0, ...findChangePoints(history).map(({ index }) => index)];
  const logs = starts
    .map((from, place) => all.subarray(from, starts[place + 1]))
    .flatMap((level) => (isWithin(level, baseLog, fewer) ? withoutVisit(level) : []))
    .slice(-PAST_SWEEPS);
  if (logs.length < LEAST_PAST_SWEEPS) return [];
  const centre = median(logs) ?? baseLog;
  const widened = Math.sqrt(typicalRuns);
  return logs.map((value) => Math.exp(centre + widened * (value - centre)));
}

/** Whether a value on the log scale is at this level. `fewer`: factor of the deviation of a mean of fewer runs. */
function isWithin(level: Float64Array, log: number, fewer = 1): boolean {
  const centre = medianIn(level, 0, level.length);
  const apart = level.map((value) => Math.abs(value - centre));
  const deviation = Math.max(1.4826 * medianIn(apart, 0, apart.length), scaleOf(differences(level, 1), 0.5));
  const { deviations, least } = SAME_LEVEL;
  return Math.abs(log - centre) <= Math.max(least, deviations * fewer * deviation);
}

/** Without the sweeps of a single visit to another level, such as a regression that was mended: it is no noise. */
function withoutVisit(level: Float64Array): number[] {
  const isHere = Array.from(level, (log) => isWithin(level, log));
  const visits = isHere.filter((is, sweep) => !is && isHere[sweep - 1] !== false).length;
  return [...level].filter((_, sweep) => visits !== 1 || isHere[sweep] === true);
}

/** False discovery rate of a comparison. */
export const FALSE_SHARE = 0.03;
/** Smaller changes are never reported. */
export const LEAST_PERCENT = 0.5;

export function isLarge(change: number): boolean {
  return Math.abs(percentOfLog(change)) >= LEAST_PERCENT;
}

/** 90 % quantile of the normal distribution. @see scipy.stats.norm.ppf(0.9) */
export const POWER_ERRORS = 1.2816;

/** Detectable effect at a power of 90 %, in standard errors of the difference. */
export function detectableErrors(limit: number, degrees: number): number {
  const scatter = (POWER_ERRORS * limit) ** 2 / (2 * degrees);
  return limit + Math.sqrt(POWER_ERRORS ** 2 + scatter);
}

/** Factor by which the true variance exceeds its estimate in one case of five (Wilson and Hilferty 1931). */
export function varianceReserve(degrees: number): number {
  const part = 2 / (9 * degrees);
  return 1 / Math.max(0.1, 1 - part - 0.8416 * Math.sqrt(part)) ** 3;
}

/** Detectable effect (power 90 %, log scale) of the next cell when `called` are reported (Benjamini, Hochberg 1995). */
export function detectableAmong(cells: number, called = 0, q = FALSE_SHARE) {
  return (error: number, degrees: number): number => {
    const limit = tQuantile((q * Math.min(called + 1, cells)) / cells, degrees);
    const least = Math.log1p(LEAST_PERCENT / 100);
    return Math.max(detectableErrors(limit, degrees) * error, least + detectableErrors(0, degrees) * error);
  };
}

/** Noise of a cell: standard deviations, log scale. */
export interface KnownNoise {
  /** Standard deviation of a run; null without repeats. */
  readonly run: number | null;
  /** Standard deviation of a sweep in addition to its runs; null with few sweeps. */
  readonly sweep: number | null;
  readonly degrees: number;
}

/** The smallest change of a cell, log scale, that two sweeps with this many runs show nine times in ten. */
export function visibleChange({ run, sweep, degrees }: KnownNoise, runs: number, cells: number): number | null {
  // With one run per sweep, it is unknown which part of the noise more runs would reduce.
  if (run === null && (sweep === null || runs > 1)) return null;
  const error = Math.sqrt(2 * ((run ?? 0) ** 2 / runs + (sweep ?? 0) ** 2));
  return detectableAmong(cells)(error, Math.max(2 * (runs - 1), degrees));
}

/** The smallest number of runs per side that shows a change of this size in one cell; null if `MOST_RUNS` do not. */
export function runsThatShow(noise: KnownNoise, percent: number): number | null {
  const wanted = Math.log1p(percent / 100);
  const counts = Array.from({ length: MOST_RUNS }, (_, place) => place + 1);
  return counts.find((runs) => (visibleChange(noise, runs, 1) ?? Infinity) <= wanted) ?? null;
}

const LEAST_RUNS = 3;
const MOST_RUNS = 10_000;

/**
 * Number of further runs per side until the error of the difference is small enough; null when no number suffices. More
 * runs reduce neither the systematic error of the difference nor the variance between its sweeps.
 */
export function moreRunsUntil(
  { variance, degrees }: SampleVariance,
  [a, b]: readonly [number, number],
  systematicError: number,
  sweepVariance: number,
  isEnough: (error: number, degrees: number) => boolean,
): number | null {
  const there = Math.min(a, b);
  const raised = variance * varianceReserve(degrees);
  const isEnoughWith = (runs: number): boolean => {
    const error = Math.max(Math.sqrt((2 * raised) / runs), systematicError);
    return isEnough(Math.hypot(error, Math.sqrt(sweepVariance)), degrees + 2 * runs - a - b);
  };
  if (!isEnoughWith(MOST_RUNS)) return null;
  let [low, high] = [Math.max(there, LEAST_RUNS - 1), there + MOST_RUNS];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isEnoughWith(middle)) high = middle;
    else low = middle;
  }
  return high - there;
}
