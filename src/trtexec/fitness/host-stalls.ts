import type { QueryTimes } from '../query-times.ts';

/** How long the GPU stood still between queries, in one run with one stream. */
export interface HostStalls {
  /** Share of the time from the first query to the end of the last one, from 0 to 1. */
  readonly share: number;
  readonly count: number;
}

/**
 * A gap is a stall when it is so many times the usual gap, and such a share of a query: gaps of the same length after
 * every query belong to the cell (a small network whose launches or wake-ups take as long as itself).
 */
const USUAL_GAPS = 4;
const OF_A_QUERY = 0.25;

/** Null where the stamps of the queries are not known. */
export function hostStallsOf({ columns, count }: QueryTimes, medianMs: number): HostStalls | null {
  const { startComputeMs: starts, endComputeMs: ends } = columns;
  if (starts === undefined || ends === undefined || count < 2) return null;
  const gaps = new Float64Array(count - 1);
  for (let query = 1; query < count; query += 1) {
    gaps[query - 1] = Math.max(0, (starts[query] ?? 0) - (ends[query - 1] ?? 0));
  }
  const lastMs = ends[count - 1] ?? 0;
  const usualMs = gaps.toSorted()[gaps.length >> 1] ?? 0;
  // Stamps have six significant digits: both ends of a gap may be off by one step.
  const stepMs = 10 ** (Math.floor(Math.log10(Math.max(lastMs, Number.MIN_VALUE))) - 5);
  const leastMs = USUAL_GAPS * usualMs + OF_A_QUERY * medianMs + 2 * stepMs;
  let stalledMs = 0;
  let stalls = 0;
  for (const gap of gaps) {
    if (gap <= leastMs) continue;
    stalledMs += gap;
    stalls += 1;
  }
  const spanMs = lastMs - (starts[0] ?? 0);
  return spanMs > 0 ? { share: stalledMs / spanMs, count: stalls } : null;
}
