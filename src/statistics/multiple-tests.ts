/**
 * Which of many tests to believe so that at most a share `q` of those believed is false on average (Benjamini and
 * Hochberg 1995).
 * @returns the positions of the believed p values
 */
export function rejectedByBenjaminiHochberg(pValues: readonly number[], q: number): Set<number> {
  const order = pValues.map((p, index) => ({ p, index })).toSorted((a, b) => a.p - b.p);
  const last = order.findLastIndex(({ p }, rank) => p <= (q * (rank + 1)) / order.length);
  return new Set(order.slice(0, last + 1).map(({ index }) => index));
}

/**
 * The share of false calls that the k-th look may spend when a comparison is looked at again and again while runs come
 * in: the shares of all looks add up to `total`, however many there are, so that looking more often calls no more
 * false ones (alpha spending, Lan and DeMets 1983, with the union bound: 1/(1*2) + 1/(2*3) + ... = 1).
 * @param look counts from 1
 */
export function alphaSpent(look: number, total = 0.03): number {
  return total / (look * (look + 1));
}
