import { tQuantile } from '../statistics/student-t.ts';

/** False discovery rate of a comparison. */
export const FALSE_SHARE = 0.03;
/** Smaller changes are never reported. */
export const LEAST_PERCENT = 0.5;

/** 90 % quantile of the normal distribution. */
const POWER_ERRORS = 1.2816;

/**
 * Detectable effect at a power of 90 %, in standard errors of the difference. It is the critical t value plus the
 * variation of the difference and of its error (noncentral t; within 3 % from six degrees of freedom).
 * @param limit critical t value
 * @param degrees degrees of freedom of the error
 */
export function detectableErrors(limit: number, degrees: number): number {
  const scatter = (POWER_ERRORS * limit) ** 2 / (2 * degrees);
  return limit + Math.sqrt(POWER_ERRORS ** 2 + scatter);
}

/** Critical t value of the next cell when `called` of `cells` are reported (Benjamini and Hochberg 1995). */
export function callLimit(q: number, called: number, cells: number, degrees: number): number {
  return tQuantile((q * Math.min(called + 1, cells)) / cells, degrees);
}

/** Factor by which the true variance exceeds its estimate in one case of five (Wilson and Hilferty 1931). */
export function varianceReserve(degrees: number): number {
  const part = 2 / (9 * degrees);
  return 1 / Math.max(0.1, 1 - part - 0.8416 * Math.sqrt(part)) ** 3;
}

/** Detectable effect at a power of 90 %, log scale. */
export function detectableChange(error: number, degrees: number, limit: number): number {
  const least = Math.log1p(LEAST_PERCENT / 100);
  return Math.max(detectableErrors(limit, degrees) * error, least + detectableErrors(0, degrees) * error);
}

/** Noise of a cell: standard deviations, log scale. */
export interface KnownNoise {
  /** Standard deviation of a run; null without repeats. */
  readonly run: number | null;
  /** Standard deviation of a sweep in addition to its runs; null with few sweeps. */
  readonly sweep: number | null;
  readonly degrees: number;
}

/**
 * The smallest change of one cell among many that two sweeps with this many runs show nine times in ten, on the log
 * scale. Null if the run noise is unknown.
 */
export function visibleChange({ run, sweep, degrees }: KnownNoise, runs: number, cells: number): number | null {
  // With one run per sweep, it is unknown which part of the noise more runs would reduce.
  if (run === null && (sweep === null || runs > 1)) return null;
  const error = Math.sqrt(2 * ((run ?? 0) ** 2 / runs + (sweep ?? 0) ** 2));
  const free = Math.max(2 * (runs - 1), degrees);
  return detectableChange(error, free, callLimit(FALSE_SHARE, 0, cells, free));
}

/** The smallest number of runs per side that shows a change of this size in one cell; null if `MOST_RUNS` do not. */
export function runsThatShow(noise: KnownNoise, percent: number): number | null {
  const wanted = Math.log1p(percent / 100);
  for (let runs = 1; runs <= MOST_RUNS; runs += 1) {
    const visible = visibleChange(noise, runs, 1);
    if (visible !== null && visible <= wanted) return runs;
  }
  return null;
}

/** Compared runs of a cell and their noise on the log scale. */
export interface ComparedRuns {
  /** Variance of one run. */
  readonly variance: number;
  readonly degrees: number;
  readonly runs: readonly [number, number];
  /**
   * Errors of the difference that more runs do not reduce: a standard deviation, and `nights`, a variance between
   * sweeps.
   */
  readonly systematicError: number;
  readonly nights: number;
}

const LEAST_RUNS = 3;
const MOST_RUNS = 10_000;

/**
 * Number of further runs per side until the error of the difference is small enough; null when no number suffices. The
 * variance estimate is rough, so it is raised such that the number suffices in four cases of five.
 */
export function moreRunsUntil(
  { variance, degrees, runs: [a, b], systematicError, nights }: ComparedRuns,
  isEnough: (error: number, degrees: number) => boolean,
): number | null {
  const there = Math.min(a, b);
  const raised = variance * varianceReserve(degrees);
  const isEnoughWith = (runs: number): boolean => {
    const error = Math.max(Math.sqrt((2 * raised) / runs), systematicError);
    return isEnough(Math.hypot(error, Math.sqrt(nights)), degrees + 2 * runs - a - b);
  };
  if (!isEnoughWith(MOST_RUNS)) return null;
  let low = Math.max(there, LEAST_RUNS - 1);
  let high = 2 * low;
  while (!isEnoughWith(high)) [low, high] = [high, 2 * high];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isEnoughWith(middle)) high = middle;
    else low = middle;
  }
  return high - there;
}
