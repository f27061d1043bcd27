import type { BoundBy } from '../../records/bound.ts';
import type { RunFlag } from '../../records/outcome.ts';
import type { QueryTimes } from '../run-facts.ts';
import { type ComputeTimes, type FitnessFacts, percent, timedUnderProfiler } from './facts.ts';

/** Below this share of the time the GPU waits for something else. In recorded sweeps: only for copies. */
const BUSY = 0.95;
/** Least share of the time in stalls: 17 to 49 % in runs without CPU, at most 0.1 % in others with an idle GPU. */
const STALLED = 0.05;
/** If the single queries are unknown: CUDA graph and spin wait keep a GPU at least this busy when a CPU is free. */
const BUSY_WITH_GRAPH = 0.8;
/** A launch that waits for a CPU increases the mean enqueue time, not the median. */
const ENQUEUE_TAIL = 1.2;

/** The GPU waited for the host: its CPUs were busy, or launches take as long as the network itself. */
export function hostBound(facts: FitnessFacts, compute: ComputeTimes | null): RunFlag | null {
  const { gpuBusy, enqueueClass, enqueueRatio } = facts.derived;
  if (gpuBusy === null || gpuBusy >= BUSY || idlesByIntent(facts)) return null;
  const idle = `GPU idle ${percent(1 - gpuBusy)} of the time`;
  if (isHostStarved(facts, compute)) {
    const stalls = stallsOf(facts, compute);
    const inStalls = stalls === null ? '' : `${percent(stalls.share)} in ${stalls.count} stalls between queries`;
    const evidence = `${idle}, ${inStalls || 'more than its launches and copies explain'}`;
    return { id: 'hostBound', effect: 'widened', value: gpuBusy, evidence };
  }
  // Launches of copy-bound cells wait for the copies, too.
  if (enqueueClass !== 'bound' || enqueueRatio === null || copiesOf(facts) !== null) return null;
  if (!mayWaitForLaunches(gpuBusy, enqueueRatio)) return null;
  const evidence = `${idle}, enqueue takes ${enqueueRatio.toFixed(2)} times the GPU time`;
  return { id: 'hostBound', effect: 'explained', value: gpuBusy, evidence };
}

/** Whether the host sometimes failed to feed the GPU in a way that is not normal for the cell. */
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

/** Whether pauses or non-overlapping copies were requested. */
function idlesByIntent({ log }: FitnessFacts): boolean {
  return isPaced(log) || log.options.exposeDma === true;
}

/**
 * A gap is a stall if it is this many times the usual gap and this share of a query. Equal gaps after every query
 * belong to the cell: the launches or wake-ups of a small network take as long as the network.
 */
const USUAL_GAPS = 4;
const OF_A_QUERY = 0.25;

/**
 * GPU idle time between queries as a share of the time from the first query to the end of the last one. For one run
 * with one stream. Null if the stamps of the queries are unknown.
 */
function hostStallsOf({ columns, count }: QueryTimes, medianMs: number) {
  const { startComputeMs: starts, endComputeMs: ends } = columns;
  if (starts === undefined || ends === undefined || count < 2) return null;
  const gaps = starts.subarray(1).map((start, query) => Math.max(0, start - (ends[query] ?? 0)));
  const lastMs = ends[count - 1] ?? 0;
  const usualMs = gaps.toSorted()[gaps.length >> 1] ?? 0;
  // Stamps have six significant digits, so both ends of a gap may be off by one step.
  const stepMs = 10 ** (Math.floor(Math.log10(Math.max(lastMs, Number.MIN_VALUE))) - 5);
  const leastMs = USUAL_GAPS * usualMs + OF_A_QUERY * medianMs + 2 * stepMs;
  const stalls = gaps.filter((gap) => gap > leastMs);
  const spanMs = lastMs - (starts[0] ?? 0);
  return spanMs > 0 ? { share: stalls.reduce((sum, gap) => sum + gap, 0) / spanMs, count: stalls.length } : null;
}

/**
 * From this share of the time on, a copy engine is never idle for long: 0.97 in the recorded cell that its copies
 * limit.
 */
const COPYING = 0.8;

type BoundFacts = Pick<FitnessFacts, 'log' | 'derived'>;

/**
 * What limits the throughput of a run; null if unknown. GPU times of several streams overlap, so only certain cases
 * count there. The migration that added `measurements.bound_by` has the rules of its time in SQL.
 */
export function boundBy(facts: BoundFacts, flags: readonly Pick<RunFlag, 'id' | 'effect'>[]): BoundBy | null {
  const { derived, log } = facts;
  if (log.measurement === null) return null;
  const { enqueueClass, gpuBusy, transferBound } = derived;
  const isBusy = gpuBusy !== null && gpuBusy >= BUSY;
  const has = (id: RunFlag['id']): boolean => flags.some((flag) => flag.id === id);
  if (flags.some(({ effect, id }) => id === 'contended' && effect !== 'explained')) return 'contended';
  if (isPaced(log) && !isBusy) return 'paced';
  const copies = copiesOf(facts);
  if (copies !== null) return copies;
  // With trtexec's profiler each launch waits for the GPU.
  const isLaunching = enqueueClass === 'bound' && !timedUnderProfiler(log, false);
  if (isLaunching || has('hostBound')) return 'host';
  // The steps run one after the other, so the longest one limits.
  if (log.options.exposeDma === true && gpuBusy !== null && !isBusy) return transferBound ?? 'compute';
  if (gpuBusy !== null && !isBusy) return 'host';
  if (has('powerLimited')) return 'power';
  return isBusy ? 'compute' : null;
}

/** Pauses between queries were asked for. */
function isPaced({ options }: FitnessFacts['log']): boolean {
  return (options.sleepMs ?? 0) > 0 || (options.idleMs ?? 0) > 0;
}

/** If launch and work of a query together fill less than this share of the time, the host did something else. */
const LAUNCHING = 0.5;

/**
 * Whether the GPU may have waited for launches. Otherwise it paused for an unstated reason, which neither a CUDA graph
 * nor a larger batch removes.
 */
export function mayWaitForLaunches(gpuBusy: number | null, enqueueRatio: number | null): boolean {
  return gpuBusy === null || gpuBusy * (1 + (enqueueRatio ?? 0)) >= LAUNCHING;
}

/**
 * The direction of the copies that the GPU waits for: copies one way take longer than the GPU's work, and copies both
 * ways take nearly all of the time. Null if it does not wait for copies.
 */
function copiesOf({ derived, log: { measurement } }: BoundFacts): 'h2d' | 'd2h' | null {
  const { transferBound } = derived;
  if (measurement === null || transferBound === null) return null;
  const copiesMs = (measurement.h2dMs?.median ?? 0) + (measurement.d2hMs?.median ?? 0);
  return (copiesMs * measurement.throughputQps) / 1000 >= COPYING ? transferBound : null;
}
