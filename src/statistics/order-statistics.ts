/** Median; 0 for an empty array. */
export function middleOf(values: Float64Array): number {
  return median(values) ?? 0;
}

/** Median of `values[from, to)`. */
export function medianIn(values: Float64Array, from: number, to: number): number {
  return middleOf(values.subarray(from, to));
}

/** Absolute differences of the values of `[from, to)` that are `lag` apart. */
export function differences(values: Float64Array, lag: number, from = 0, to = values.length): Float64Array {
  const found = new Float64Array(Math.max(0, to - from - lag));
  for (let i = 0; i < found.length; i += 1) {
    found[i] = Math.abs(at(values, from + i + lag) - at(values, from + i));
  }
  return found;
}

/** Quantiles of |z| for a standard normal distribution. */
const NORMAL_QUANTILES = { 0.5: 0.6745, 0.6: 0.8416, 0.75: 1.1503, 0.9: 1.645 } as const;

/**
 * Standard deviation of single values from a quantile of their differences, few of which are steps between levels. 0
 * for fewer than two.
 */
export function scaleOf(values: Float64Array, q: keyof typeof NORMAL_QUANTILES): number {
  return values.length < 2 ? 0 : quantileSorted(values.toSorted(), q) / (NORMAL_QUANTILES[q] * Math.SQRT2);
}

/**
 * Checked index. It accepts one kind of array only, because other kinds slow down the innermost loops of the detector
 * by a third.
 * @throws RangeError when out of bounds
 */
export function at(values: Float64Array, place: number): number {
  const value = values[place];
  return value === undefined ? missing(values.length, place) : value;
}

/** A separate function, so that `at` stays small enough to be inlined. */
function missing(length: number, place: number): never {
  throw new RangeError(`no number at ${place} of ${length}`);
}

/** A fast path for the usual number of runs; the gate has half a million of them. */
export function middleOfThree(a: number, b: number, c: number): number {
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}

/** Null for an empty list. */
export function median(values: readonly number[] | Float64Array): number | null {
  const { 0: x, 1: y, 2: z, length } = values;
  if (length === 3 && x !== undefined && y !== undefined && z !== undefined) return middleOfThree(x, y, z);
  const sorted = values instanceof Float64Array ? values.toSorted() : values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) return null;
  const below = sorted[middle - 1];
  return sorted.length % 2 === 1 || below === undefined ? upper : (below + upper) / 2;
}

/**
 * Linear interpolation (Hyndman and Fan 1996, type 7; numpy's default).
 * @param sorted ascending, not empty
 * @param p in [0, 1]
 */
export function quantileSorted(sorted: readonly number[] | Float64Array, p: number): number {
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
  return sorted[Math.max(0, sorted.length - 1 - timesAbove(sorted.length, percent))] ?? Number.NaN;
}

/** Number of the times that its percentile leaves out; 0 if the percentile is their maximum. */
export function timesAbove(times: number, percent: number): number {
  return Math.trunc(Math.fround(Math.fround(1 - Math.fround(percent / 100)) * times));
}
