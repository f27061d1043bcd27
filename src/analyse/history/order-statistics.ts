/** Order statistics of plain numbers in typed arrays: what the history detector does most of its work with. */

/** Quantile by linear interpolation (Hyndman and Fan 1996, type 7; numpy's default). @param sorted ascending */
export function quantileOfSorted(sorted: Float64Array, p: number): number {
  const place = p * (sorted.length - 1);
  const below = Math.floor(place);
  const low = sorted[below] ?? 0;
  return low + (place - below) * ((sorted[below + 1] ?? low) - low);
}

export function medianOfSorted(sorted: Float64Array): number {
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** The middle value of `values[from, to)`; 0 of nothing. */
export function medianIn(values: Float64Array, from: number, to: number): number {
  return medianOfSorted(values.subarray(from, to).toSorted());
}

/** Absolute differences of values `lag` places apart, ascending. */
export function sortedDifferences(
  values: Float64Array,
  lag: number,
  from = 0,
  to = values.length,
): Float64Array {
  const differences = new Float64Array(Math.max(0, to - from - lag));
  for (let i = 0; i < differences.length; i += 1) {
    differences[i] = Math.abs((values[from + i + lag] ?? 0) - (values[from + i] ?? 0));
  }
  return differences.toSorted();
}

/** The quantile of |z| of a standard normal, for the quantiles that are used. */
const NORMAL_QUANTILES = { 0.5: 0.6745, 0.6: 0.8416, 0.75: 1.1503, 0.9: 1.645 } as const;

/**
 * Standard deviation of single values, from a quantile of the differences of values `lag` places apart: steps between
 * levels move few of the differences, so they do not inflate it.
 * @param differences ascending; with fewer than two there is no scale: 0
 */
export function scaleOf(differences: Float64Array, q: keyof typeof NORMAL_QUANTILES): number {
  if (differences.length < 2) return 0;
  return quantileOfSorted(differences, q) / (NORMAL_QUANTILES[q] * Math.SQRT2);
}
