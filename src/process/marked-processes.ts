import { readFileSync } from 'node:fs';

import { identityOf, processNumbers, currentPidNamespace } from './process-identity.ts';
import type { RunId, SweepId } from '../records/scalars.ts';

/**
 * Environment variable that identifies everything a run started, including processes that left its process group by
 * setsid or were orphaned: it is inherited, and visible in /proc. Only a process that clears its environment and leaves
 * the group escapes. It names the owning bench, so that no other bench's processes are ended.
 */
export const MARK_VARIABLE = 'BENCH_ATTEMPT';

export function markOf(sweepId: SweepId, runId: RunId): string {
  const { pid, startTicks } = identityOf(process.pid);
  return [sweepId, runId, pid, startTicks ?? '', currentPidNamespace() ?? ''].join('/');
}

/** All processes of this user with a mark. Empty without /proc. */
function markedProcesses() {
  return processNumbers().flatMap((pid) => {
    const mark = pid === process.pid ? null : markIn(environOf(pid));
    return mark === null ? [] : [{ pid, mark }];
  });
}

/** Ample for a program that starts new processes while its own are ended. */
const MAX_ROUNDS = 20;

export function endMarked(isChosen: (mark: string) => boolean): number {
  const ended = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const found = markedProcesses().filter(({ mark }) => isChosen(mark));
    // Do not wait for one that the kernel has not removed yet.
    if (found.every(({ pid }) => ended.has(pid))) return ended.size;
    for (const { pid } of found) {
      endProcess(pid);
      ended.add(pid);
    }
  }
  return ended.size;
}

/** True if the bench with this mark is gone; false for another container, which is not visible from here. */
function isOrphanMark(mark: string): boolean {
  const [, , pid = '', startTicks = '', namespace = ''] = mark.split('/');
  if (!/^\d+$/.test(pid) || startTicks === '' || namespace !== currentPidNamespace()) return false;
  return identityOf(Number(pid)).startTicks !== startTicks;
}

/** Ends processes left by a killed bench, of any sweep or store, and reports it. */
export function endOrphans(onNote: (text: string) => void): void {
  const ended = endMarked(isOrphanMark);
  if (ended === 0) return;
  onNote(`ended ${ended} process${ended === 1 ? '' : 'es'} that a killed bench had left running`);
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** Empty for a process of another user or of the kernel, and for one that has ended. */
function environOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}

function markIn(environ: string): string | null {
  const start = `\0${environ}`.indexOf(`\0${MARK_VARIABLE}=`);
  if (start === -1) return null;
  const value = environ.slice(start + MARK_VARIABLE.length + 1);
  const end = value.indexOf('\0');
  return end === -1 ? value : value.slice(0, end);
}
