import { createHash } from 'node:crypto';
import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';

import { isRecord } from '../domain/unknown-values.ts';
import { isProbablyRunning, readIdentity } from './process-identity.ts';
import { ownerState, readOwner, thisOwner } from './process-owner.ts';
import { tryLink } from './try-link.ts';

export type LockAttempt =
  | { readonly kind: 'taken'; readonly unlock: () => void }
  | { readonly kind: 'held'; readonly pid: number }
  /** Neither to be had nor held by anybody: a file that may not be removed. */
  | { readonly kind: 'stuck' };

const MAX_TRIES = 20;
/** A holder says so often that it is at work: one that cannot be seen from here is known by nothing else. */
const HEARTBEAT_MS = 20_000;
const SILENT_MS = 90_000;

/** Takes a lock that holds across processes. One whose process is gone counts for nothing. Its folder must be there. */
export function takeLockFile(path: string): LockAttempt {
  const mine = `${path}.${process.pid}`;
  const content = JSON.stringify(thisOwner());
  writeFileSync(mine, content);
  try {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      // A lock appears with its content, or not at all: nobody can find it empty.
      if (tryLink(mine, path)) return { kind: 'taken', unlock: keepAlive(path, content) };
      const left = contentOf(path);
      if (left === null) continue;
      const pid = lockFileHolder(path) ?? takeAway(path, left);
      if (pid !== null) return { kind: 'held', pid };
    }
  } finally {
    rmSync(mine, { force: true });
  }
  return { kind: 'stuck' };
}

/** The process that holds a lock now; null when there is none. */
export function lockFileHolder(path: string): number | null {
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (!isRecord(parsed)) return null;
    const owner = readOwner(parsed);
    if (owner === null) {
      const identity = readIdentity(parsed);
      return identity !== null && isProbablyRunning(identity) ? identity.pid : null;
    }
    const state = ownerState(owner);
    const isHeld = state === 'running' || (state === 'unseen' && isBeating(path));
    return isHeld ? owner.pid : null;
  } catch {
    return null;
  }
}

function isBeating(path: string): boolean {
  return Date.now() - statSync(path).mtimeMs < SILENT_MS;
}

function keepAlive(path: string, content: string): () => void {
  const timer = setInterval(() => {
    try {
      const now = new Date();
      utimesSync(path, now, now);
    } catch {
      // Its folder was removed: then it is no lock any more.
    }
  }, HEARTBEAT_MS).unref();
  return () => {
    clearInterval(timer);
    if (contentOf(path) === content) rmSync(path, { force: true });
  };
}

/**
 * Removes a lock whose process is gone. Each such lock may be removed by one process only, which holds a lock of its own
 * for that: else one that looked a moment ago would remove the lock of one that has taken it since.
 * @returns the process that is removing it; null when it is gone, or may not be removed
 */
function takeAway(path: string, left: string): number | null {
  const name = createHash('sha256').update(left).digest('hex').slice(0, 16);
  const guard = takeLockFile(`${path}.after-${name}`);
  if (guard.kind !== 'taken') return guard.kind === 'held' ? guard.pid : null;
  try {
    if (contentOf(path) === left) rmSync(path, { force: true });
  } catch {
    // Somebody else's, in a folder that all share.
  } finally {
    guard.unlock();
  }
  return null;
}

function contentOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
