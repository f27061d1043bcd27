import { readFileSync } from 'node:fs';

import { identityOf, processNumbers, currentPidNamespace } from './process-identity.ts';

/**
 * The environment variable by which everything that a run started is found again, also what left its process group by
 * setsid or whose parent is gone: it is inherited, and /proc shows it. Only a process that clears its environment and
 * leaves the group as well escapes. It says which bench is the owner, so that no other bench's work is touched.
 */
export const MARK_VARIABLE = 'BENCH_ATTEMPT';

export interface MarkedProcess {
  readonly pid: number;
  readonly mark: string;
}

export function markOf(sweepId: string, runId: string): string {
  const { pid, startTicks } = identityOf(process.pid);
  return [sweepId, runId, pid, startTicks ?? '', currentPidNamespace() ?? ''].join('/');
}

/** Every process of this user that carries a mark. None where there is no /proc. */
function markedProcesses(): MarkedProcess[] {
  return processNumbers().flatMap((pid) => {
    const mark = pid === process.pid ? null : markIn(environOf(pid));
    return mark === null ? [] : [{ pid, mark }];
  });
}

/** More than enough for what starts new processes while its own are ended. */
const MAX_ROUNDS = 20;

/** Ends every process with a mark that is chosen; returns how many there were. */
export function endMarked(isChosen: (mark: string) => boolean): number {
  const ended = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const found = markedProcesses().filter(({ mark }) => isChosen(mark));
    // One that the kernel has not taken away yet is no reason to wait.
    if (found.every(({ pid }) => ended.has(pid))) return ended.size;
    for (const { pid } of found) {
      endProcess(pid);
      ended.add(pid);
    }
  }
  return ended.size;
}

/** True when the bench that made this mark is gone; not for one of another container, which cannot be seen from here. */
function isOrphanMark(mark: string): boolean {
  const [, , pid = '', startTicks = '', namespace = ''] = mark.split('/');
  if (!/^\d+$/.test(pid) || startTicks === '' || namespace !== currentPidNamespace()) return false;
  return identityOf(Number(pid)).startTicks !== startTicks;
}

/** Ends whatever a bench that was killed has left running, in whatever sweep or store, and says so. */
export function endOrphans(onNote: (text: string) => void): void {
  const ended = endMarked(isOrphanMark);
  if (ended === 0) return;
  onNote(`ended ${ended} process${ended === 1 ? '' : 'es'} that a killed bench had left running`);
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** Empty for a process of another user, one of the kernel, and one that has ended. */
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
