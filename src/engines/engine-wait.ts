import type { LockWait } from '../process/lock.ts';
import { holderText } from '../process/lock-holder.ts';
import type { PlannedBuild } from '../records/plan.ts';
import type { SweepContext } from '../run/sweep-context.ts';

/** Waits for another process that is at work with the same engine, and says so. */
export function lockWait({ onEvent, signal }: Pick<SweepContext, 'onEvent' | 'signal'>, build: PlannedBuild): LockWait {
  return {
    signal,
    onWait: (holder) => {
      const text = `${build.label}: waiting for ${holderText(holder)}, which builds the same engine`;
      onEvent({ kind: 'note', text });
    },
  };
}
