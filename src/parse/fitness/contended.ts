import type { RunFlag } from '../../domain/run-flag.ts';
import { type ComputeTimes, type FitnessFacts, hasOneStream, percent } from './facts.ts';
import { isHostStarved } from './host-bound.ts';

/**
 * Two processes on one GPU take turns: some queries take as long as ever, others wait for a whole time slice. Of 12
 * recorded contended cells all have a mean of at least 2.17 times the undisturbed time and 8 % of queries beyond 1.5
 * times of it; the wildest of 160 undisturbed ones 1.02 times and 0.1 %; without CPU 1.30 times and 1.5 %.
 */
const SLOW = 1.5;
const CERTAIN = { meanRatio: 1.5, slowShare: 0.03 };
const LIKELY = { meanRatio: 1.1, slowShare: 0.01 };

/** The GPU was shared while the run was timed. */
export function contended(facts: FitnessFacts, compute: ComputeTimes | null): RunFlag | null {
  return bySamples(facts, compute) ?? bySummary(facts, compute) ?? byProcesses(facts);
}

function bySamples(facts: FitnessFacts, compute: ComputeTimes | null): RunFlag | null {
  if (compute === null || !hasOneStream(facts)) return null;
  const { fastMs, meanMs, sorted } = compute;
  const meanRatio = meanMs / fastMs;
  const slowShare = shareAbove(sorted, SLOW * fastMs);
  if (meanRatio < LIKELY.meanRatio || slowShare < LIKELY.slowShare) return null;
  // Without a CUDA graph the GPU times hold the waiting of each launch for its CPU.
  if (isHostStarved(facts, compute)) return null;
  const isCertain = meanRatio >= CERTAIN.meanRatio && slowShare >= CERTAIN.slowShare;
  return flag(
    isCertain ? 'excluded' : 'widened',
    meanRatio,
    `${percent(slowShare)} of the queries took more than ${SLOW} times the undisturbed ${shortMs(fastMs)} ms, mean ${shortMs(meanMs)} ms${processesText(facts)}`,
  );
}

/** Without the single queries only what is beyond doubt: the fastest one stands for those that were undisturbed. */
function bySummary(facts: FitnessFacts, compute: ComputeTimes | null): RunFlag | null {
  const times = facts.log.measurement?.gpuComputeMs;
  const mean = times?.mean ?? null;
  if (compute !== null || !hasOneStream(facts) || times === undefined || mean === null) return null;
  if (times.min <= 0) return null;
  const queries = facts.derived.queries ?? 0;
  // One slow query in a few moves their mean.
  const slowestShare = mean > 0 ? times.max / (queries * mean) : 1;
  const meanRatio = mean / times.min;
  if (meanRatio < CERTAIN.meanRatio || slowestShare > CERTAIN.slowShare) return null;
  if (isHostStarved(facts, compute)) return null;
  return flag(
    'excluded',
    meanRatio,
    `mean GPU time ${shortMs(mean)} ms, undisturbed ${shortMs(times.min)} ms${processesText(facts)}`,
  );
}

/** Somebody else's process was there, and the times do not show it. */
function byProcesses({ telemetry }: FitnessFacts): RunFlag | null {
  const others = telemetry?.otherProcesses ?? [];
  if (others.length === 0) return null;
  return {
    id: 'contended',
    effect: 'explained',
    value: null,
    evidence: `another process on the GPU, not seen in the times: ${namesOf(others)}`,
  };
}

function flag(effect: 'excluded' | 'widened', meanRatio: number, evidence: string): RunFlag {
  return { id: 'contended', effect, value: (meanRatio - 1) * 100, evidence };
}

function processesText({ telemetry }: FitnessFacts): string {
  const others = telemetry?.otherProcesses ?? [];
  return others.length === 0 ? '' : `; on the GPU beside it: ${namesOf(others)}`;
}

const NAMED = 3;

function namesOf(others: readonly { readonly name: string; readonly pid: number }[]): string {
  const named = others.slice(0, NAMED).map(({ name, pid }) => `${name} (${pid})`);
  const more = others.length - named.length;
  return more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
}

/** @param sorted ascending */
function shareAbove(sorted: Float64Array, limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) > limit) high = middle;
    else low = middle + 1;
  }
  return (sorted.length - low) / sorted.length;
}

function shortMs(value: number): string {
  return String(Number(value.toPrecision(3)));
}
