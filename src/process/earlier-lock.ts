import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { namesIn } from '../artefacts/folders.ts';
import { type LockHolder, readEarlierHolder } from './lock-holder.ts';
import { isGroupRunning, isPidRunning, ownerState } from './process-identity.ts';

// Locks of the previous release: files that are valid while the process they name lives. Honored for one release, so
// that an old and a new bench may share a machine; then this file is removed.

/** A holder on another host or in another container touched its file every 20 s. */
const SILENT_MS = 90_000;
/** If the file was another user's, the next name was used. */
const ENDINGS = ['', '.2', '.3', '.4'];

export function earlierHolder(path: string): LockHolder | null {
  for (const ending of ENDINGS) {
    const holder = holderIn(path + ending);
    if (holder !== null) return holder;
  }
  return null;
}

function holderIn(path: string): LockHolder | null {
  try {
    const owner = readEarlierHolder(readFileSync(path, 'utf8'));
    if (owner === null) return null;
    const { host, pid, started } = owner;
    const state = ownerState(owner);
    // A time in the future comes from an unreliable clock.
    const isBeating = Math.abs(Date.now() - statSync(path).mtimeMs) < SILENT_MS;
    if (state === 'running' || (state === 'unseen' && isBeating)) return { pid, host, isGone: false };
    const isLeft = state === 'gone' && started !== null && isGroupRunning(started);
    return isLeft ? { pid: started.pid, host, isGone: true } : null;
  } catch {
    return null;
  }
}

const LEFTOVER = /\.lock(?:\.[234])?(?:\.after-\w+)*(?:\.after-\w+|\.(\d+-[0-9a-f]+|\d{2,}))$/;

/** Removes files of benches that were killed while taking a lock. `start` is the prefix of lock names. */
export function removeEarlierLeftovers(folder: string, start: string): void {
  for (const name of namesIn(folder)) {
    const leftover = LEFTOVER.exec(name);
    if (!name.startsWith(start) || leftover === null) continue;
    const path = join(folder, name);
    const pid = Number.parseInt(leftover[1] ?? '', 10);
    const isBeingWritten = pid > 0 && isPidRunning(pid);
    if (!isBeingWritten && holderIn(path) === null) removeIfAllowed(path);
  }
}

function removeIfAllowed(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Another user's file in a sticky folder.
  }
}
