/**
 * Quantile by linear interpolation between order statistics (Hyndman and Fan 1996, type 7; numpy's default).
 * @param sorted ascending, not empty
 * @param p in [0, 1]
 */
export function quantileSorted(sorted: readonly number[], p: number): number {
  const place = p * (sorted.length - 1);
  const below = Math.floor(place);
  const low = sorted[below] ?? Number.NaN;
  const high = sorted[below + 1] ?? low;
  return low + (place - below) * (high - low);
}
