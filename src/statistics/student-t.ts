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

/** The t with a two-sided p value of `p`, by bisection. @param p in (0, 1) */
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

const TAIL = 0.025;

/**
 * 95 % interval of a proportion (Clopper and Pearson 1934). Both numbers may be fractional, so that dependent trials
 * can count less.
 * @param trials more than 0
 * @returns shares in [0, 1]
 */
export function binomialInterval(count: number, trials: number): readonly [number, number] {
  const low = count <= 0 ? 0 : betaQuantile(TAIL, count, trials - count + 1);
  const high = count >= trials ? 1 : betaQuantile(1 - TAIL, count + 1, trials - count);
  return [low, high];
}

/** The x at which I_x(a, b) is `p`, by bisection. */
function betaQuantile(p: number, a: number, b: number): number {
  let low = 0;
  let high = 1;
  for (let step = 0; step < BISECTIONS && high - low > 1e-14 * high; step += 1) {
    const middle = (low + high) / 2;
    if (incompleteBeta(a, b, middle) < p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
