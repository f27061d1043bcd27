import { quantileSorted } from './order-statistics.ts';

/** Bins of equal width. */
export interface Bins {
  readonly from: number;
  readonly width: number;
  readonly count: number;
}

/** Bins extend to this quantile and two bins further, so that one outlier does not squeeze the others into one bin. */
const REACH_QUANTILE = 0.995;
const REACH_BINS = 2;
const LEAST_BINS = 8;
/** Values closer than this, relative to the least, are equal. */
const LEAST_SPAN = 1e-7;

/** Bins that several samples share. @param samples each sorted ascending, not empty */
export function binsOver(samples: readonly (readonly number[])[], count: number): Bins {
  const from = Math.min(...samples.map(([least = 0]) => least));
  const reach = Math.max(...samples.map((sorted) => quantileSorted(sorted, REACH_QUANTILE)));
  const least = Math.max(from, 1e-6);
  const span = reach - from > LEAST_SPAN * least ? reach - from : 1e-3 * least;
  return { from, width: span / (count - REACH_BINS), count };
}

/** The number of values in each bin, and the number above the last one. */
export function countIn(values: readonly number[], { from, width, count }: Bins) {
  const counts = Array.from({ length: count }, () => 0);
  let beyond = 0;
  for (const value of values) {
    const bin = Math.floor((value - from) / width);
    const before = counts[bin];
    if (before === undefined) beyond += 1;
    else counts[bin] = before + 1;
  }
  return { counts, beyond };
}

/**
 * At most `most` common bins, not so narrow that they show noise (Freedman and Diaconis 1981).
 * @param samples each sorted ascending, not empty
 */
export function binsFor(samples: readonly (readonly number[])[], most: number): Bins {
  const finest = binsOver(samples, most);
  const widths = samples.map((sorted) => {
    const quarters = quantileSorted(sorted, 0.75) - quantileSorted(sorted, 0.25);
    return (2 * quarters) / Math.cbrt(sorted.length);
  });
  const span = finest.width * (most - REACH_BINS);
  const wanted = Math.ceil(span / Math.max(Math.min(...widths), finest.width)) + REACH_BINS;
  return binsOver(samples, Math.max(LEAST_BINS, wanted));
}

/** Limits the steps for a range below the resolution of its numbers. */
const MOST_TICKS = 3;

/** Round numbers that divide a range into about this many steps. */
export function ticks(from: number, to: number, about: number): number[] {
  const span = to - from;
  if (!(span > 0)) return [from];
  const rough = span / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  const first = Math.ceil(from / step);
  const steps = Math.min(Math.floor(to / step) - first, MOST_TICKS * about);
  return Array.from({ length: Math.max(0, steps + 1) }, (_, place) => (first + place) * step);
}
