import { incompleteBeta } from './special-functions.ts';

const TAIL = 0.025;

/**
 * 95 % interval of a share, after `count` of `trials` (Clopper and Pearson 1934): never too narrow, and it holds for
 * 0 of many. Neither has to be whole, so that trials which depend on each other can count for fewer.
 * @param trials more than 0
 * @returns shares in [0, 1]
 */
export function binomialInterval(count: number, trials: number): readonly [number, number] {
  const low = count <= 0 ? 0 : betaQuantile(TAIL, count, trials - count + 1);
  const high = count >= trials ? 1 : betaQuantile(1 - TAIL, count + 1, trials - count);
  return [low, high];
}

const BISECTIONS = 200;

/** The x at which the regularized incomplete beta function I_x(a, b) is `p`, by bisection. */
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
