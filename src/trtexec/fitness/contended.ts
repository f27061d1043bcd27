import type { RunFlag } from '../../records/outcome.ts';
import type { QueryTimes } from '../run-facts.ts';
import { type ComputeTimes, type FitnessFacts, isAlone, percent, shortMs } from './facts.ts';
import { isHostStarved } from './host-bound.ts';
import { shortList } from '../../text/printable.ts';

/**
 * Two processes on one GPU take turns: some queries take as long as usual, others wait for a whole time slice. All 12
 * recorded contended cells have a mean of at least 2.17 times the undisturbed time and 8 % of queries beyond 1.5 times
 * that. The most extreme of 160 undisturbed cells had 1.02 times and 0.1 %; cells without a free CPU had 1.30 times and
 * 1.5 %.
 */
const CERTAIN: SlowQueries = { meanRatio: 1.5, share: 0.03 };
const LIKELY: SlowQueries = { meanRatio: 1.1, share: 0.01 };
/**
 * Limits if nvidia-smi named another process. A process that used the GPU for 7 % of the time caused 1.096 times and
 * 0.6 %.
 */
const SEEN: SlowQueries = { meanRatio: 1.03, share: 0.002 };
/** Slow enqueues are the cause if they explain at least this share of the mean's excess over the undisturbed time. */
const OF_HOST = 0.6;

/**
 * Either the GPU is shared (`contended`) or the host launches slowly (`hostJitter`). GPU times without a CUDA graph
 * look the same for both.
 */
export function contended(facts: FitnessFacts, compute: ComputeTimes | null): RunFlag | null {
  return bySamples(facts, compute) ?? bySummary(facts, compute) ?? byProcesses(facts, compute);
}

function bySamples(facts: FitnessFacts, compute: ComputeTimes | null): RunFlag | null {
  if (compute === null || !isAlone(facts)) return null;
  const slow = slowQueriesOf(compute);
  if (!exceeds(slow, hasOthers(facts) ? SEEN : LIKELY)) return null;
  // Without a CUDA graph GPU times include each launch's wait for its CPU.
  if (isHostStarved(facts, compute)) return null;
  const beyond = `${SLOW} times the undisturbed ${shortMs(compute.fastMs)} ms`;
  const text = `${percent(slow.share)} of the queries took more than ${beyond}`;
  const host = hostsOwn(facts, compute);
  if (host !== null) return flag('hostJitter', 'explained', slow.meanRatio, `${text}, ${host}`);
  const effect = exceeds(slow, CERTAIN) ? 'excluded' : 'widened';
  const evidence = `${text}, mean ${shortMs(compute.meanMs)} ms${othersText(facts, '; ')}`;
  return flag('contended', effect, slow.meanRatio, evidence);
}

/** From this ratio on, the usual query takes as long as its enqueue: the host decides its time. */
const LAUNCHES_DECIDE = 0.95;
/** A GPU that two processes use in turns is never idle for long: at least 98.8 % busy in the recorded cells. */
const TAKEN_IN_TURNS = 0.9;

function launchesDecide({ derived }: FitnessFacts): boolean {
  return (derived.enqueueRatio ?? 0) >= LAUNCHES_DECIDE;
}

function idleText({ derived: { gpuBusy, transferBound } }: FitnessFacts): string | null {
  return gpuBusy === null || gpuBusy >= TAKEN_IN_TURNS || transferBound !== null
    ? null
    : `the GPU idle ${percent(1 - gpuBusy)} of the time`;
}

/** Evidence that the host delayed the slow queries; null if there is none. */
function hostsOwn(facts: FitnessFacts, compute: ComputeTimes): string | null {
  if (!mayHoldLaunches(facts) || facts.times === null) return null;
  // If the rest, without the slowly enqueued queries, looks like a quiet GPU, the host is the cause.
  const slow = slowWithoutHost(facts.times, compute);
  const isEnqueued = launchesDecide(facts) || (slow !== null && !exceeds(slow, SEEN));
  return isEnqueued ? 'and were enqueued slowly' : idleText(facts);
}

/**
 * Whether slow launches can come from the host. With a CUDA graph a query is one launch; another process on the GPU may
 * also delay enqueues.
 */
function mayHoldLaunches(facts: FitnessFacts): boolean {
  return facts.log.options.cudaGraph !== true && !hasOthers(facts);
}

/** Times that are all this close to their median, as a share of its distance from the lowest one, have one low time. */
const FAST_SHARE = 0.1;

/** Without the times of single queries, only certain cases count. The fastest query represents the undisturbed ones. */
function bySummary(facts: FitnessFacts, compute: ComputeTimes | null): RunFlag | null {
  const { enqueueMs = null, gpuComputeMs } = facts.log.measurement ?? {};
  if (compute !== null || !isAlone(facts) || gpuComputeMs === undefined || gpuComputeMs.mean === null) return null;
  const { max, mean, median, min, percentiles } = gpuComputeMs;
  const farthest = Math.max(Math.abs(mean - median), (percentiles['99'] ?? max) - median);
  if (min <= 0 || farthest < FAST_SHARE * (median - min)) return null;
  // With few queries, one slow query moves the mean.
  const slowestShare = mean > 0 ? max / ((facts.derived.queries ?? 0) * mean) : 1;
  const meanRatio = mean / min;
  if (meanRatio < CERTAIN.meanRatio || slowestShare > CERTAIN.share || isHostStarved(facts, compute)) return null;
  const text = `mean GPU time ${shortMs(mean)} ms, undisturbed ${shortMs(min)} ms`;
  const enqueueTail = (enqueueMs?.mean ?? 0) - (enqueueMs?.median ?? 0);
  const isTail = enqueueTail > OF_HOST * (mean - min);
  const slowly = launchesDecide(facts) ? 'the enqueues take as long' : idleText(facts);
  const host = isTail ? 'the enqueues have a tail as long' : slowly;
  return mayHoldLaunches(facts) && host !== null
    ? flag('hostJitter', 'explained', meanRatio, `${text}; ${host}`)
    : flag('contended', 'excluded', meanRatio, `${text}${othersText(facts, '; ')}`);
}

/** Another process was present, but the times are no different from those on a quiet GPU, or cannot be judged. */
function byProcesses(facts: FitnessFacts, compute: ComputeTimes | null): RunFlag | null {
  if (!hasOthers(facts)) return null;
  const effect =
    compute === null || !isAlone(facts)
      ? 'what it did to the times is not known'
      : `the mean is ${percent(slowQueriesOf(compute).meanRatio - 1)} over the undisturbed time`;
  return { id: 'contended', effect: 'explained', value: null, evidence: `${othersText(facts)}; ${effect}` };
}

function exceeds({ share, meanRatio }: SlowQueries, limits: SlowQueries): boolean {
  return meanRatio >= limits.meanRatio && share >= limits.share;
}

function flag(id: 'contended' | 'hostJitter', effect: RunFlag['effect'], meanRatio: number, evidence: string): RunFlag {
  return { id, effect, value: (meanRatio - 1) * 100, evidence };
}

function hasOthers({ telemetry }: FitnessFacts): boolean {
  return (telemetry?.otherProcesses ?? []).length > 0;
}

const NAMED = 3;

/** Empty without another process. */
function othersText({ telemetry }: FitnessFacts, before = ''): string {
  const names = (telemetry?.otherProcesses ?? []).map(({ name, pid }) => `${name} (${pid})`);
  return names.length === 0 ? '' : `${before}another process on the GPU: ${shortList(names, NAMED, ', ', ' and ')}`;
}

/** A query is slow when it takes this many times the undisturbed time. */
const SLOW = 1.5;
/** An enqueue is slow when it takes this many times its own median. */
const SLOW_ENQUEUE = 1.3;

/** The share of slow queries, from 0 to 1, and the mean GPU time of all, as a multiple of the undisturbed one. */
type SlowQueries = ReturnType<typeof slowQueriesOf>;

function slowQueriesOf({ inOrder, fastMs, meanMs }: ComputeTimes) {
  const slow = inOrder.filter((ms) => ms > SLOW * fastMs).length;
  return { share: slow / inOrder.length, meanRatio: meanMs / fastMs };
}

/**
 * Like `slowQueriesOf`, but each slowly enqueued query counts as a median one: the host did not delay the slow ones
 * that remain. Without a CUDA graph the GPU time of a query includes the gaps between its launches. Null if the enqueue
 * times are unknown.
 */
function slowWithoutHost({ columns }: QueryTimes, { inOrder, fastMs, medianMs }: ComputeTimes): SlowQueries | null {
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
