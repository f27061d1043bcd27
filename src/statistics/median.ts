/** A fast path for the usual number of runs; the gate has half a million of them. */
export function middleOfThree(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}

/** Null for an empty list. */
export function median(values: readonly number[] | Float64Array): number | null {
  const sorted = values instanceof Float64Array ? values.toSorted() : values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) return null;
  const below = sorted[middle - 1];
  return sorted.length % 2 === 1 || below === undefined ? upper : (below + upper) / 2;
}
