/**
 * Order statistics in typed arrays, which are most of the work of the history detector. They use selection rather than
 * sorting. Functions reorder their `scratch` array.
 */

/** Linear interpolation (Hyndman and Fan 1996, type 7; numpy's default). 0 for an empty array. */
function quantile(scratch: Float64Array, p: number): number {
  if (scratch.length === 0) return 0;
  const place = p * (scratch.length - 1);
  const below = Math.floor(place);
  const low = select(scratch, below);
  return place === below ? low : low + (place - below) * (leastFrom(scratch, below + 1) - low);
}

/** Median; 0 for an empty array. */
export function middleOf(scratch: Float64Array): number {
  const middle = scratch.length >> 1;
  if (scratch.length === 0) return 0;
  if (scratch.length % 2 === 1) return select(scratch, middle);
  const lower = select(scratch, middle - 1);
  return (lower + leastFrom(scratch, middle)) / 2;
}

/** Median of `values[from, to)`; does not change the array. */
export function medianIn(values: Float64Array, from: number, to: number): number {
  return middleOf(values.slice(from, to));
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
export function scaleOf(scratch: Float64Array, q: keyof typeof NORMAL_QUANTILES): number {
  return scratch.length < 2 ? 0 : quantile(scratch, q) / (NORMAL_QUANTILES[q] * Math.SQRT2);
}

/** The k-th smallest value. Afterwards no value before it is larger (Hoare's selection). */
function select(scratch: Float64Array, k: number): number {
  let left = 0;
  let right = scratch.length - 1;
  while (left < right) {
    const pivot = at(scratch, (left + right) >> 1);
    let i = left;
    let j = right;
    while (i <= j) {
      while (at(scratch, i) < pivot) i += 1;
      while (at(scratch, j) > pivot) j -= 1;
      if (i > j) break;
      const swapped = at(scratch, i);
      scratch[i] = at(scratch, j);
      scratch[j] = swapped;
      i += 1;
      j -= 1;
    }
    if (k <= j) right = j;
    else if (k >= i) left = i;
    else break;
  }
  return at(scratch, k);
}

function leastFrom(values: Float64Array, from: number): number {
  let least = at(values, from);
  for (let i = from + 1; i < values.length; i += 1) least = Math.min(least, at(values, i));
  return least;
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
