import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

import { isRecord } from '../domain/unknown-values.ts';
import { identityOf, isProbablyRunning, readIdentity } from './process-identity.ts';

export type LockAttempt =
  | { readonly kind: 'taken'; readonly unlock: () => void }
  | { readonly kind: 'held'; readonly pid: number }
  /** Neither to be had nor held by anybody: a file that may not be removed. */
  | { readonly kind: 'stuck' };

const MAX_TRIES = 20;

/** Takes a lock that holds across processes. One whose process is gone counts for nothing. Its folder must be there. */
export function takeLockFile(path: string): LockAttempt {
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, JSON.stringify(identityOf(process.pid)));
  try {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      if (tryLink(mine, path)) {
        return { kind: 'taken', unlock: () => rmSync(path, { force: true }) };
      }
      const pid = lockFileHolder(path);
      if (pid !== null) return { kind: 'held', pid };
      takeAway(path);
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
    const identity = isRecord(parsed) ? readIdentity(parsed) : null;
    return identity !== null && isProbablyRunning(identity) ? identity.pid : null;
  } catch {
    return null;
  }
}

/** A lock appears with its content, or not at all: nobody can find it empty. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Moves a lock whose process is gone out of the way; of several that try, one succeeds. */
function takeAway(path: string): void {
  const away = `${path}.stale-${process.pid}`;
  try {
    renameSync(path, away);
  } catch {
    return;
  }
  try {
    // Between the look and the move another process may have taken the lock: then it is put back.
    if (lockFileHolder(away) !== null) tryLink(away, path);
  } finally {
    rmSync(away, { force: true });
  }
}
