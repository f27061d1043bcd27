import { median } from '../../statistics/median.ts';
import { enqueueClass } from '../../trtexec/run-facts.ts';

interface EnqueuedRun {
  readonly enqueueRatio: number | null;
}

/** A cell that came to be bound by its launches, or is not any more: worth telling even where its time did not move. */
export function enqueueReasons(base: readonly EnqueuedRun[], head: readonly EnqueuedRun[]): string[] {
  const [before, after] = [ratioOf(base), ratioOf(head)];
  if (before === null || after === null) return [];
  const [was, is] = [enqueueClass(before), enqueueClass(after)];
  if (was === is || (was !== 'bound' && is !== 'bound')) return [];
  const numbers = `enqueue takes ${before.toFixed(2)} → ${after.toFixed(2)} times the GPU time`;
  return [`${is === 'bound' ? 'now' : 'no longer'} bound by enqueue: ${numbers}`];
}

function ratioOf(runs: readonly EnqueuedRun[]): number | null {
  return median(runs.flatMap(({ enqueueRatio }) => enqueueRatio ?? []));
}
