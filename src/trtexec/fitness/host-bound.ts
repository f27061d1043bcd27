import type { RunFlag } from '../../records/run-flag.ts';
import type { QueryTimes } from '../run-facts.ts';
import { copiesOf, isPaced, mayWaitForLaunches } from './bound-by.ts';
import { type ComputeTimes, type FitnessFacts, percent } from './facts.ts';

/** Below this share the GPU is idle enough to ask why; in recorded sweeps only a cell limited by its copies. */
const BUSY = 0.95;
/** Share of the time in stalls: 17 to 49 % in runs without CPU, at most 0.1 % in others with an idle GPU. */
const STALLED = 0.05;
/** Without single queries: CUDA graph and spin wait keep a GPU this busy, if a CPU is available. */
const BUSY_WITH_GRAPH = 0.8;
/** A launch that waits for a CPU increases the mean enqueue time, not the median. */
const ENQUEUE_TAIL = 1.2;

/** The GPU waited for the host: its CPUs were busy, or launches take as long as the network. */
export function hostBound(facts: FitnessFacts, compute: ComputeTimes | null): RunFlag | null {
  const { gpuBusy, enqueueClass, enqueueRatio } = facts.derived;
  if (gpuBusy === null || gpuBusy >= BUSY || idlesByIntent(facts)) return null;
  const idle = `GPU idle ${percent(1 - gpuBusy)} of the time`;
  if (isHostStarved(facts, compute)) {
    const stalls = stallsOf(facts, compute);
    const seen =
      stalls === null
        ? 'more than its launches and copies explain'
        : `${percent(stalls.share)} in ${stalls.count} stalls between queries`;
    return { id: 'hostBound', effect: 'widened', value: gpuBusy, evidence: `${idle}, ${seen}` };
  }
  // Their launches wait for the copies, too.
  if (enqueueClass !== 'bound' || enqueueRatio === null || copiesOf(facts) !== null) return null;
  if (!mayWaitForLaunches(gpuBusy, enqueueRatio)) return null;
  const evidence = `${idle}, enqueue takes ${enqueueRatio.toFixed(2)} times the GPU time`;
  return { id: 'hostBound', effect: 'explained', value: gpuBusy, evidence };
}

/** True if the host sometimes failed to feed the GPU, other than what is normal for the cell. */
export function isHostStarved(facts: FitnessFacts, compute: ComputeTimes | null): boolean {
  const { gpuBusy, transferBound } = facts.derived;
  if (gpuBusy === null || gpuBusy >= BUSY || idlesByIntent(facts)) return false;
  const stalls = stallsOf(facts, compute);
  if (stalls !== null) return stalls.share >= STALLED;
  if (transferBound !== null || gpuBusy >= BUSY_WITH_GRAPH) return false;
  const { cudaGraph, spinWait } = facts.log.options;
  if (cudaGraph === true) return spinWait === true;
  const enqueue = facts.log.measurement?.enqueueMs ?? null;
  return enqueue !== null && (enqueue.mean ?? 0) > ENQUEUE_TAIL * enqueue.median;
}

function stallsOf({ times }: FitnessFacts, compute: ComputeTimes | null) {
  return times === null || compute === null ? null : hostStallsOf(times, compute.medianMs);
}

/** Pauses and non-overlapping copies were requested. */
function idlesByIntent({ log }: FitnessFacts): boolean {
  return isPaced(log) || log.options.exposeDma === true;
}

/**
 * A gap is a stall when it is this many times the usual gap, and such a share of a query: gaps of the same length after
 * every query belong to the cell (a small network whose launches or wake-ups take as long as itself).
 */
const USUAL_GAPS = 4;
const OF_A_QUERY = 0.25;

/**
 * How long the GPU stood still between queries, in one run with one stream, as a share of the time from the first query
 * to the end of the last one. Null where the stamps of the queries are not known.
 */
function hostStallsOf({ columns, count }: QueryTimes, medianMs: number) {
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
