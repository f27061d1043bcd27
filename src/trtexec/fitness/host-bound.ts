import type { BoundBy } from '../../records/bound.ts';
import type { RunFlag } from '../../records/run-flag.ts';
import type { QueryTimes } from '../run-facts.ts';
import { type ComputeTimes, type FitnessFacts, percent, timedUnderProfiler } from './facts.ts';

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

/** Below this share of the time the GPU waits for something else. */
const WORKING = 0.9;
/** From this share of the time on a copy engine is never idle for long: .97 in the recorded cell that its copies limit. */
const COPYING = 0.8;

type BoundFacts = Pick<FitnessFacts, 'log' | 'derived'>;

/**
 * What limits the throughput of a run; null where it is not known: of several streams, whose GPU times overlap, only
 * what is beyond doubt. The migration that added `measurements.bound_by` had the rules of its time in SQL.
 */
export function boundBy(facts: BoundFacts, flags: readonly Pick<RunFlag, 'id' | 'effect'>[]): BoundBy | null {
  const { derived, log } = facts;
  if (log.measurement === null) return null;
  const { enqueueClass, gpuBusy, transferBound } = derived;
  const isBusy = gpuBusy !== null && gpuBusy >= WORKING;
  const has = (id: RunFlag['id']): boolean => flags.some((flag) => flag.id === id);
  if (flags.some(({ effect, id }) => id === 'contended' && effect !== 'explained')) return 'contended';
  if (isPaced(log) && !isBusy) return 'paced';
  const copies = copiesOf(facts);
  if (copies !== null) return copies;
  // trtexec's profiler makes each launch wait for the GPU.
  const isLaunching = enqueueClass === 'bound' && !timedUnderProfiler(log, false);
  if (isLaunching || has('hostBound')) return 'host';
  // One after the other: the longest of them.
  if (log.options.exposeDma === true && gpuBusy !== null && !isBusy) return transferBound ?? 'compute';
  if (gpuBusy !== null && !isBusy) return 'host';
  if (has('powerLimited')) return 'power';
  return isBusy ? 'compute' : null;
}

/** Pauses between queries were asked for. */
function isPaced({ options }: FitnessFacts['log']): boolean {
  return (options.sleepMs ?? 0) > 0 || (options.idleMs ?? 0) > 0;
}

/** Launch and work of a query, one after the other, fill less than this of the time: the host did something else. */
const LAUNCHING = 0.5;

/** Whether the GPU may have waited for launches; of pauses that nothing states, no CUDA graph and no batch takes them away. */
export function mayWaitForLaunches(gpuBusy: number | null, enqueueRatio: number | null): boolean {
  return gpuBusy === null || gpuBusy * (1 + (enqueueRatio ?? 0)) >= LAUNCHING;
}

/**
 * The direction of the copies that the GPU waits for: one takes longer than the GPU's work, and those of both directions
 * nearly all of the time.
 */
function copiesOf({ derived, log: { measurement } }: BoundFacts): 'h2d' | 'd2h' | null {
  const { gpuBusy, transferBound } = derived;
  if (measurement === null || transferBound === null || (gpuBusy ?? 0) >= WORKING) return null;
  const copiesMs = (measurement.h2dMs?.median ?? 0) + (measurement.d2hMs?.median ?? 0);
  return (copiesMs * measurement.throughputQps) / 1000 >= COPYING ? transferBound : null;
}
