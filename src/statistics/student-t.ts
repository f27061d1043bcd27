import { incompleteBeta } from './special-functions.ts';

/**
 * Two-sided p value of Student's t.
 * @param degrees more than 0, may be fractional
 */
export function twoSidedP(t: number, degrees: number): number {
  if (!Number.isFinite(t)) return 0;
  return incompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

const BISECTIONS = 200;

/** The t value with a two-sided p value of `p`, by bisection. @param p in (0, 1) */
export function tQuantile(p: number, degrees: number): number {
  let low = 0;
  let high = 1;
  while (twoSidedP(high, degrees) > p && high < Number.MAX_VALUE / 2) high *= 2;
  for (let step = 0; step < BISECTIONS && high - low > 1e-13 * high; step += 1) {
    const middle = (low + high) / 2;
    if (twoSidedP(middle, degrees) > p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
