import { readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { namesIn } from '../artefacts/folders.ts';
import { type LockHolder, readEarlierHolder } from './lock-holder.ts';
import { isGroupRunning, isPidRunning, ownerState } from './process-identity.ts';

// Locks of the release before this one: files that count as long as the process that they name lives. They are
// honoured for one release, so that an old bench and a new one may share a machine; then this file goes.

/** A holder that cannot be seen from here touched its file every 20 s. */
const SILENT_MS = 90_000;
/** Where the file itself was another user's, the next name was used. */
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
    // A time that lies ahead was written by no clock that could be trusted.
    const isBeating = Math.abs(Date.now() - statSync(path).mtimeMs) < SILENT_MS;
    if (state === 'running' || (state === 'unseen' && isBeating)) return { pid, host, isGone: false };
    const isLeft = state === 'gone' && started !== null && isGroupRunning(started);
    return isLeft ? { pid: started.pid, host, isGone: true } : null;
  } catch {
    return null;
  }
}

const LEFTOVER = /\.lock(?:\.[234])?(?:\.after-\w+)*(?:\.after-\w+|\.(\d+-[0-9a-f]+|\d{2,}))$/;

/**
 * Removes what earlier benches left in a folder that were killed while they took a lock.
 * @param start of the names of the locks
 */
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
    // Another user's, in a folder that all share.
  }
}
