import type { QueryTimes } from '../query-times.ts';
import type { ComputeTimes } from './facts.ts';

/** A query is slow when it takes so many times the undisturbed time. */
export const SLOW = 1.5;
/** An enqueue is slow when it takes so many times its own median. */
const SLOW_ENQUEUE = 1.3;

/** The queries of one run that took far longer than undisturbed ones. */
export interface SlowQueries {
  /** Share of all queries, from 0 to 1. */
  readonly share: number;
  /** Mean GPU time of all queries, as a multiple of the undisturbed one. */
  readonly meanRatio: number;
}

export function slowQueriesOf({ inOrder, fastMs, meanMs }: ComputeTimes): SlowQueries {
  const slow = inOrder.filter((ms) => ms > SLOW * fastMs).length;
  return { share: slow / inOrder.length, meanRatio: meanMs / fastMs };
}

/**
 * The same with each query that was enqueued slowly taken as one of the median: what is left slow was not held up by the
 * host. Without a CUDA graph the GPU time of a query holds the gaps between its launches. Null where the stamps of the
 * enqueues are not known.
 */
export function slowWithoutHost(
  { columns }: QueryTimes,
  { inOrder, fastMs, medianMs }: ComputeTimes,
): SlowQueries | null {
  const { startEnqMs: starts, endEnqMs: ends } = columns;
  if (starts === undefined || ends === undefined || starts.length !== inOrder.length) return null;
  const enqueueMs = starts.map((start, query) => (ends[query] ?? start) - start);
  const limitMs = SLOW_ENQUEUE * (enqueueMs.toSorted()[enqueueMs.length >> 1] ?? 0);
  let slow = 0;
  let sumMs = 0;
  for (const [query, ms] of inOrder.entries()) {
    const isSlow = ms > SLOW * fastMs;
    const isHeldUp = isSlow && (enqueueMs[query] ?? 0) > limitMs;
    sumMs += isHeldUp ? medianMs : ms;
    if (isSlow && !isHeldUp) slow += 1;
  }
  return { share: slow / inOrder.length, meanRatio: sumMs / inOrder.length / fastMs };
}
