import { readFileSync, readdirSync, readlinkSync } from 'node:fs';

import * as z from 'zod';

import { orNull } from '../errors.ts';
import type { RunId, SweepId } from '../records/scalars.ts';

const knownOrNull = z.string().nullable().catch(null);

/** Distinguishes a process from a later one with the same id. */
export const identitySchema = z.object({
  pid: z.number().int().positive(),
  /** Start time in clock ticks after boot (`/proc/PID/stat`, field 22); null without /proc. */
  startTicks: knownOrNull,
  bootId: knownOrNull,
});

export type ProcessIdentity = Readonly<z.infer<typeof identitySchema>>;

export function identityOf(pid: number): ProcessIdentity {
  return { pid, startTicks: startTicksOf(pid), bootId: currentBootId() };
}

/** False for a later process with its ID, and without /proc, because it cannot be determined. */
export function isRunning({ bootId, pid, startTicks }: ProcessIdentity): boolean {
  return startTicks !== null && bootId === currentBootId() && startTicksOf(pid) === startTicks;
}

export function isPidRunning(pid: number): boolean {
  return startTicksOf(pid) !== null;
}

/** Null for a process that has ended, including a zombie. */
function startTicksOf(pid: number): string | null {
  const stat = orNull(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The name in parentheses may contain anything, so count from its end.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
}

function currentBootId(): string | null {
  return orNull(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim());
}

function currentPidNamespace(): string | null {
  return orNull(() => readlinkSync('/proc/self/ns/pid'));
}

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
    const numbers = (orNull(() => readdirSync('/proc')) ?? []).filter((name) => /^\d+$/.test(name)).map(Number);
    const found = numbers.filter((pid) => {
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
