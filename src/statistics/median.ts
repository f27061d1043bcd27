/** Null of nothing. */
export function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) return null;
  const below = sorted[middle - 1];
  return sorted.length % 2 === 1 || below === undefined ? upper : (below + upper) / 2;
}
