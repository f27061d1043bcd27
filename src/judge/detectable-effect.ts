import { tQuantile } from '../statistics/student-t.ts';

/** 90 % of a normal lie below. */
const POWER_ERRORS = 1.2816;

/**
 * The smallest true change that is found nine times in ten, in errors of the difference: the limit that a t value must
 * pass, and as much more as the difference and its estimated error scatter (the noncentral t, within 3 % of it from six
 * degrees of freedom on).
 * @param limit t value from which a change is called
 * @param degrees of freedom of the error
 */
export function detectableErrors(limit: number, degrees: number): number {
  const scatter = (POWER_ERRORS * limit) ** 2 / (2 * degrees);
  return limit + Math.sqrt(POWER_ERRORS ** 2 + scatter);
}

/** The t value from which the next cell is called when `called` of `cells` are (Benjamini and Hochberg 1995). */
export function callLimit(q: number, called: number, cells: number, degrees: number): number {
  return tQuantile((q * Math.min(called + 1, cells)) / cells, degrees);
}

/** By how much the true variance may exceed its estimate: it does so in one case of five (Wilson and Hilferty 1931). */
export function varianceReserve(degrees: number): number {
  const part = 2 / (9 * degrees);
  return 1 / Math.max(0.1, 1 - part - 0.8416 * Math.sqrt(part)) ** 3;
}
