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
