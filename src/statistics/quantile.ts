/**
 * Linear interpolation (Hyndman and Fan 1996, type 7; numpy's default).
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

/**
 * trtexec's percentile in float32: one of the times, without interpolation (findPercentile in sampleReporting.cpp of
 * NVIDIA/TensorRT). p99 of up to 100 times is their maximum.
 * @param sorted ascending, not empty
 * @param percent in [0, 100]
 */
export function trtexecPercentile(sorted: readonly number[], percent: number): number {
  const share = Math.fround(1 - Math.fround(percent / 100));
  const excluded = Math.trunc(Math.fround(share * sorted.length));
  return sorted[Math.max(0, sorted.length - 1 - excluded)] ?? Number.NaN;
}
