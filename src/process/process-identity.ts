import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

import * as z from 'zod';

import { errorCode } from '../errors.ts';

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

/** False without /proc, because it cannot be determined. */
function isStillRunning(identity: ProcessIdentity): boolean {
  if (identity.startTicks === null || identity.bootId !== currentBootId()) return false;
  return startTicksOf(identity.pid) === identity.startTicks;
}

/** Like `isStillRunning`, but without /proc any process with that ID counts, as locks need it. */
export function isProbablyRunning(identity: ProcessIdentity): boolean {
  if (identity.startTicks !== null) return isStillRunning(identity);
  try {
    process.kill(identity.pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** Like `isProbablyRunning`, for a process of which only the ID is known. */
export function isPidRunning(pid: number): boolean {
  return isProbablyRunning({ pid, startTicks: null, bootId: null });
}

/** All visible processes; empty without /proc. */
export function processNumbers(): number[] {
  return (orNull(() => readdirSync('/proc')) ?? []).filter((name) => /^\d+$/.test(name)).map(Number);
}

/** Ends a process of a killed bench, with its group. */
export function endOrphan(identity: ProcessIdentity): boolean {
  return isStillRunning(identity) && orNull(() => process.kill(-identity.pid, 'SIGKILL')) === true;
}

/** The result of a system call; null if it fails. */
export function orNull<Value>(ask: () => Value): Value | null {
  try {
    return ask();
  } catch {
    return null;
  }
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

/** A process and the scope of its ID, because other machines or containers may see the same files. */
export const ownerSchema = identitySchema.extend({
  host: z.string(),
  /** Process IDs are valid only in this namespace; null if the system has none. */
  pidNamespace: knownOrNull,
});

export type ProcessOwner = Readonly<z.infer<typeof ownerSchema>>;

export function thisOwner(): ProcessOwner {
  return { ...identityOf(process.pid), host: hostname(), pidNamespace: currentPidNamespace() };
}

export function ownerState(owner: ProcessOwner): 'running' | 'gone' | 'unseen' {
  const here = thisOwner();
  if (owner.bootId !== here.bootId) return owner.host === here.host ? 'gone' : 'unseen';
  if (owner.pidNamespace !== here.pidNamespace) return 'unseen';
  return isProbablyRunning(owner) ? 'running' : 'gone';
}

export function currentPidNamespace(): string | null {
  return orNull(() => readlinkSync('/proc/self/ns/pid'));
}
