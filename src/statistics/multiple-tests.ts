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
