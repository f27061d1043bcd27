import { at } from '../../statistics/at.ts';
import { erfc } from '../../statistics/special-functions.ts';

/** P(|Z| > x) of a normal Z. @see scipy.stats.norm.sf(x) * 2 */
export function normalTail(x: number): number {
  return x < MOST ? lookUp(NORMAL, x) : 1e-60;
}

/** P(|T| > x) of Student's t with 5 degrees of freedom scaled to variance 1. @see scipy.stats.t.sf(x * sqrt(5 / 3), 5) * 2 */
export function heavyTail(x: number): number {
  return x < MOST ? lookUp(HEAVY, x) : at(HEAVY, MOST * STEPS) * (MOST / x) ** 5;
}

function heavyTailOf(x: number): number {
  const angle = Math.atan(x / Math.sqrt(3));
  const cosine = Math.cos(angle);
  return Math.max(1e-12, 1 - (2 / Math.PI) * (angle + Math.sin(angle) * (cosine + (2 / 3) * cosine ** 3)));
}

/**
 * Log density of the same t distribution, less that of the normal, at x squared. The constant is the log of 8 / (3
 * sqrt(3) pi) sqrt(2 pi).
 */
export function heavyLogRatio(square: number): number {
  return HEAVY_AT_ZERO - 3 * Math.log1p(square / 3) + square / 2;
}

const HEAVY_AT_ZERO = Math.log((8 / (3 * Math.sqrt(3) * Math.PI)) * Math.sqrt(2 * Math.PI));

/** Table entries per unit. Linear interpolation has an error below 0.1 % of the probability up to x = 6. */
const STEPS = 64;
const MOST = 16;
const NORMAL = Float64Array.from({ length: MOST * STEPS + 2 }, (_, i) => erfc(i / STEPS / Math.SQRT2));
const HEAVY = Float64Array.from({ length: MOST * STEPS + 2 }, (_, i) => heavyTailOf(i / STEPS));

function lookUp(table: Float64Array, x: number): number {
  const place = x * STEPS;
  const below = Math.trunc(place);
  const low = at(table, below);
  return low + (place - below) * (at(table, below + 1) - low);
}
