import { readFileSync } from 'node:fs';

import { currentPidNamespace, identityOf, orNull, processNumbers } from './process-identity.ts';
import type { RunId, SweepId } from '../records/scalars.ts';

/**
 * Environment variable that identifies every process of a run. It is inherited and visible in /proc, so it also finds
 * processes that left the group by setsid or were orphaned. Only a process that clears its environment and leaves the
 * group escapes. The mark names the owning bench, so that no processes of another bench are ended.
 */
export const MARK_VARIABLE = 'BENCH_ATTEMPT';

export function markOf(sweepId: SweepId, runId: RunId): string {
  const { pid, startTicks } = identityOf(process.pid);
  return [sweepId, runId, pid, startTicks ?? '', currentPidNamespace() ?? ''].join('/');
}

/** Ample for a program that starts new processes while its processes are being ended. */
const MAX_ROUNDS = 20;

/** Ends all processes of this user with a chosen mark; none without /proc. */
export function endMarked(isChosen: (mark: string) => boolean): number {
  const ended = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const found = processNumbers().filter((pid) => {
      const mark = pid === process.pid ? null : markOfProcess(pid);
      return mark !== null && isChosen(mark);
    });
    // Do not wait for processes that the kernel has not removed yet.
    if (found.every((pid) => ended.has(pid))) return ended.size;
    for (const pid of found) {
      orNull(() => process.kill(pid, 'SIGKILL'));
      ended.add(pid);
    }
  }
  return ended.size;
}

/** True if the bench of this mark has ended; false for another container, which is not visible from here. */
function isOrphanMark(mark: string): boolean {
  const [, , pid = '', startTicks = '', namespace = ''] = mark.split('/');
  if (!/^\d+$/.test(pid) || startTicks === '' || namespace !== currentPidNamespace()) return false;
  return identityOf(Number(pid)).startTicks !== startTicks;
}

/** Ends processes of a killed bench, of any sweep or store, and reports them. */
export function endOrphans(onNote: (text: string) => void): void {
  const ended = endMarked(isOrphanMark);
  if (ended === 0) return;
  onNote(`ended ${ended} process${ended === 1 ? '' : 'es'} that a killed bench had left running`);
}

/** Null for a process of another user or of the kernel, and for one that has ended. */
function markOfProcess(pid: number): string | null {
  const variables = orNull(() => readFileSync(`/proc/${pid}/environ`, 'latin1'))?.split('\0') ?? [];
  const start = `${MARK_VARIABLE}=`;
  return variables.find((variable) => variable.startsWith(start))?.slice(start.length) ?? null;
}
