import { erfc } from './special-functions.ts';

/**
 * Two-sided p value of the Mann-Whitney U test: normal approximation with corrections for ties and continuity
 * (scipy.stats.mannwhitneyu, method 'asymptotic').
 * @param a not empty
 * @param b not empty
 */
export function mannWhitneyP(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const n = a.length;
  const m = b.length;
  const all = new Float64Array(n + m);
  all.set(a);
  all.set(b, n);
  const ofA = Float64Array.from(a).toSorted();
  all.sort();
  let rankSum = 0;
  let ties = 0;
  let taken = 0;
  for (let from = 0; from < all.length;) {
    let to = from + 1;
    while (to < all.length && all[to] === all[from]) to += 1;
    const equal = to - from;
    ties += equal ** 3 - equal;
    for (; taken < n && ofA[taken] === all[from]; taken += 1) rankSum += (from + to + 1) / 2;
    from = to;
  }
  const mean = (n * m) / 2;
  const u = rankSum - (n * (n + 1)) / 2;
  const variance = ((n * m) / 12) * (n + m + 1 - ties / ((n + m) * (n + m - 1)));
  const z = Math.max(0, Math.abs(u - mean) - 0.5) / Math.sqrt(Math.max(1e-12, variance));
  return erfc(z / Math.SQRT2);
}

/**
 * Benjamini and Hochberg 1995: rejects at a false discovery rate of `q`.
 * @returns indices of the rejected p values
 */
export function rejectedByBenjaminiHochberg(pValues: readonly number[], q: number): Set<number> {
  const order = pValues.map((p, index) => ({ p, index })).toSorted((a, b) => a.p - b.p);
  const last = order.findLastIndex(({ p }, rank) => p <= (q * (rank + 1)) / order.length);
  return new Set(order.slice(0, last + 1).map(({ index }) => index));
}

/**
 * Error probability for the k-th of repeated looks; all add up to `total` (alpha spending, Lan and DeMets 1983, with
 * the union bound: 1/(1*2) + 1/(2*3) + ... = 1).
 * @param look 1-based
 */
export function alphaSpent(look: number, total = 0.03): number {
  return total / (look * (look + 1));
}
