import { tQuantile } from '../statistics/student-t.ts';

/** 90 % quantile of a normal. */
const POWER_ERRORS = 1.2816;

/**
 * Detectable effect at a power of 90 %, in standard errors of the difference: the critical t value plus the scatter of
 * difference and error (noncentral t; within 3 % from six degrees of freedom on).
 * @param limit critical t value
 * @param degrees of freedom of the error
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
