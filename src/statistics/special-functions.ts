import { at } from './order-statistics.ts';

/** Log gamma for x > 0 (Lanczos 1964, g = 7, nine terms; relative error below 1e-14). */
export function logGamma(x: number): number {
  const shifted = x - 1;
  let sum = at(LANCZOS, 0);
  for (let i = 1; i < LANCZOS.length; i += 1) sum += at(LANCZOS, i) / (shifted + i);
  const t = shifted + 7.5;
  return 0.5 * Math.log(2 * Math.PI) + (shifted + 0.5) * Math.log(t) - t + Math.log(sum);
}

const LANCZOS = Float64Array.of(
  0.99999999999980993,
  676.5203681218851,
  -1259.1392167224028,
  771.32342877765313,
  -176.61502916214059,
  12.507343278686905,
  -0.13857109526572012,
  9.9843695780195716e-6,
  1.5056327351493116e-7,
);

const MAX_TERMS = 500;
const TINY = 1e-300;
const PRECISION = 1e-15;

/**
 * Regularized incomplete beta function I_x(a, b) by continued fraction (Lentz's method; DLMF 8.17.22).
 * @param x in [0, 1]
 */
export function incompleteBeta(a: number, b: number, x: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // The fraction converges fast below the mean; above it, use the other tail.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(b, a, 1 - x);
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  let c = 1;
  let d = 1 / nonZero(1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  for (let m = 1; m <= MAX_TERMS; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / nonZero(1 + even * d);
    c = nonZero(1 + even / c);
    fraction *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / nonZero(1 + odd * d);
    c = nonZero(1 + odd / c);
    const factor = d * c;
    fraction *= factor;
    if (Math.abs(factor - 1) < PRECISION) break;
  }
  return (front * fraction) / a;
}

function nonZero(value: number): number {
  return Math.abs(value) < TINY ? TINY : value;
}

/** Complementary error function for x >= 0 (DLMF 7.6.2 below 1.5, DLMF 7.9.1 above). */
export function erfc(x: number): number {
  if (x < SERIES_LIMIT) return 1 - erfSeries(x);
  if (x > 27) return 0;
  // Lentz's method for the incomplete gamma function Q(1/2, x^2).
  const square = x * x;
  let b = square + 0.5;
  let c = 1 / TINY;
  let d = 1 / b;
  let fraction = d;
  for (let i = 1; i <= MAX_TERMS; i += 1) {
    const term = -i * (i - 0.5);
    b += 2;
    d = 1 / nonZero(term * d + b);
    c = nonZero(b + term / c);
    const factor = d * c;
    fraction *= factor;
    if (Math.abs(factor - 1) < PRECISION) break;
  }
  return (Math.exp(-square) * x * fraction) / Math.sqrt(Math.PI);
}

const SERIES_LIMIT = 1.5;

function erfSeries(x: number): number {
  let term = x;
  let sum = x;
  for (let i = 1; i <= MAX_TERMS && Math.abs(term) > PRECISION * Math.abs(sum); i += 1) {
    term *= (2 * x * x) / (2 * i + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/**
 * Two-sided p value of Student's t.
 * @param degrees more than 0, may be fractional
 */
export function twoSidedP(t: number, degrees: number): number {
  if (!Number.isFinite(t)) return 0;
  return incompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

/**
 * The t value with a two-sided p value of `p`, by Newton's method: the p value is convex in t, so that it comes to it
 * from 0 without a bracket.
 * @param p in (0, 1)
 * @param given Infinity for the normal distribution
 */
export function tQuantile(p: number, given: number): number {
  const degrees = Math.min(given, 1e9);
  const peak = Math.exp(logGamma((degrees + 1) / 2) - logGamma(degrees / 2)) / Math.sqrt(Math.PI * degrees);
  let [t, move] = [0, 1];
  for (let step = 0; step < MAX_TERMS && Math.abs(move) > 1e-13 * (1 + t); step += 1) {
    move = ((twoSidedP(t, degrees) - p) * (1 + (t * t) / degrees) ** ((degrees + 1) / 2)) / (2 * peak);
    t = Math.min(t + move, 1e150);
  }
  return t;
}

/** Mean of the logs of positive values: log of the geometric mean. NaN for none. */
export function meanLog(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + Math.log(value), 0) / values.length;
}

/** The mean, and the sum of squares around it. */
export function momentsOf(values: readonly number[]) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return { mean, squares: values.reduce((sum, value) => sum + (value - mean) ** 2, 0) };
}

/** A difference of logarithms as a change in percent. */
export function percentOfLog(difference: number): number {
  return Math.expm1(difference) * 100;
}
