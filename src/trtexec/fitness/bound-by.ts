import type { BoundBy } from '../../records/bound.ts';
import type { RunFlag } from '../../records/run-flag.ts';
import type { FitnessFacts } from './facts.ts';
import { timedUnderProfiler } from './profiled.ts';

/** Below this share of the time the GPU waits for something else. */
const BUSY = 0.9;
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
  const isBusy = gpuBusy !== null && gpuBusy >= BUSY;
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
export function isPaced({ options }: FitnessFacts['log']): boolean {
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
export function copiesOf({ derived, log: { measurement } }: BoundFacts): 'h2d' | 'd2h' | null {
  const { gpuBusy, transferBound } = derived;
  if (measurement === null || transferBound === null || (gpuBusy ?? 0) >= BUSY) return null;
  const copiesMs = (measurement.h2dMs?.median ?? 0) + (measurement.d2hMs?.median ?? 0);
  return (copiesMs * measurement.throughputQps) / 1000 >= COPYING ? transferBound : null;
}
