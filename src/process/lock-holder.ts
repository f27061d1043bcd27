import { ftruncateSync, readSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';

import type * as z from 'zod';

import { identityOf, identitySchema, ownerSchema, ownerState, thisOwner } from './process-identity.ts';

/** The holder of a lock, for messages: only the kernel knows whether it is held. */
export interface LockHolder {
  /** Null if the file does not state it. */
  readonly pid: number | null;
  readonly host: string | null;
  /** The process that took it has ended; its child processes still run. */
  readonly isGone: boolean;
}

export const UNKNOWN_HOLDER: LockHolder = { pid: null, host: null, isGone: false };

const MAX_BYTES = 4096;

/** `process 12`, with its host if that differs. */
export function holderText({ host, pid }: LockHolder): string {
  if (pid === null) return 'another process';
  return host === null || host === hostname() ? `process ${pid}` : `process ${pid} on ${host}`;
}

/** @param started the process that was started under the lock; null if none yet */
export function writeHolder(descriptor: number, started: number | null): void {
  const holder = { ...thisOwner(), ...(started === null ? {} : { started: identityOf(started) }) };
  writeText(descriptor, `${JSON.stringify(holder)}\n`);
}

export function clearHolder(descriptor: number): void {
  writeText(descriptor, '');
}

/** For information only: may be missing on a full disk, or in another user's file. */
function writeText(descriptor: number, text: string): void {
  try {
    ftruncateSync(descriptor, 0);
    writeSync(descriptor, text, 0);
  } catch {
    // Best effort.
  }
}

export function readHolder(descriptor: number): LockHolder {
  const owner = noteIn(readText(descriptor));
  if (owner === null) return UNKNOWN_HOLDER;
  const { host, pid, started } = owner;
  return ownerState(owner) === 'gone'
    ? { pid: started?.pid ?? null, host, isGone: true }
    : { pid, host, isGone: false };
}

function readText(descriptor: number): string {
  try {
    const buffer = Buffer.alloc(MAX_BYTES);
    return buffer.toString('utf8', 0, readSync(descriptor, buffer, 0, MAX_BYTES, 0));
  } catch {
    return '';
  }
}

const noteSchema = ownerSchema.extend({
  /** What was started under the lock. */
  started: identitySchema.nullable().catch(null),
});

function noteIn(text: string): z.infer<typeof noteSchema> | null {
  try {
    return noteSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
