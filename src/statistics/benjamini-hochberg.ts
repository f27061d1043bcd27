/**
 * Which of many tests to believe so that at most a share `q` of those believed is false on average (Benjamini and
 * Hochberg 1995).
 * @returns the positions of the believed p values
 */
export function believed(pValues: readonly number[], q: number): Set<number> {
  const order = pValues.map((p, index) => ({ p, index })).toSorted((a, b) => a.p - b.p);
  const last = order.findLastIndex(({ p }, rank) => p <= (q * (rank + 1)) / order.length);
  return new Set(order.slice(0, last + 1).map(({ index }) => index));
}
