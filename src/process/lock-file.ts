import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { isRecord } from '../text/unknown-values.ts';
import {
  identityOf,
  isGroupRunning,
  isProbablyRunning,
  type ProcessIdentity,
  readIdentity,
} from './process-identity.ts';
import { ownerState, readOwner, thisOwner } from './process-owner.ts';
import { tryLink } from './try-link.ts';

export interface TakenLock {
  readonly kind: 'taken';
  readonly unlock: () => void;
  /** It counts as held while this process, the first of its group, or any other of the group lives: also without this one. */
  readonly holdFor: (pid: number) => void;
}

export interface HeldLock {
  readonly kind: 'held';
  readonly pid: number;
  /** The process that took it is gone; what it had started lives on. */
  readonly isLeft: boolean;
}

export type LockAttempt =
  | TakenLock
  | HeldLock
  /** Neither to be had nor held by anybody: a file that may not be removed. */
  | { readonly kind: 'stuck' };

export interface LockUse {
  /** Makes the folder of the lock again when somebody has removed it; without it that is an error. */
  readonly makeFolder?: () => void;
  /** Called before a lock whose process is gone can be taken by anybody: ends what that process left running. */
  readonly endLeft?: () => void;
}

const MAX_TRIES = 20;
/** A holder says so often that it is at work: one that cannot be seen from here is known by nothing else. */
const HEARTBEAT_MS = 20_000;
const SILENT_MS = 90_000;

/** Takes a lock that holds across processes. One whose process is gone counts for nothing. Its folder must be there. */
export function takeLockFile(path: string, use: LockUse = {}): LockAttempt {
  // What one process writes each time it takes a lock must differ: else an earlier content could pass for a later one.
  const nonce = randomBytes(8).toString('hex');
  // Another process of this number may live in another container and use the same folder.
  const mine = `${path}.${process.pid}-${nonce}`;
  const own = { ...thisOwner(), nonce };
  const content = JSON.stringify(own);
  let problem: unknown = null;
  try {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      try {
        writeFileSync(mine, content);
        // A lock appears with its content, or not at all: nobody can find it empty.
        if (tryLink(mine, path)) return taken(path, mine, own, use);
        problem = null;
      } catch (error) {
        if (!isMissing(error)) throw error;
        problem = error;
        use.makeFolder?.();
        continue;
      }
      const left = contentOf(path);
      if (left === null) continue;
      const holder = holderIn(left) ?? takeAway(path, left, use);
      if (holder !== null) return holder;
    }
  } finally {
    rmSync(mine, { force: true });
  }
  if (problem !== null) throw problem;
  return { kind: 'stuck' };
}

/** The process that holds a lock now; null when there is none. */
export function lockFileHolder(path: string): number | null {
  const content = contentOf(path);
  return content === null ? null : (holderIn(content)?.pid ?? null);
}

/**
 * Removes what processes left in a folder that were killed while they took a lock.
 * @param start of the names of the locks
 */
export function sweepUpLockFiles(folder: string, start: string): void {
  for (const name of namesIn(folder)) {
    if (!name.startsWith(start)) continue;
    const path = join(folder, name);
    const pid = /\.lock(?:\.\d)?(?:\.after-\w+)*\.(\d+)(?:-[0-9a-f]+)?$/.exec(name)?.[1];
    if (pid !== undefined) removeUnlessInUse(path, Number(pid));
    else if (/\.lock(?:\.\d)?(?:\.after-\w+)+$/.test(name)) {
      const attempt = takeLockFile(path);
      if (attempt.kind === 'taken') attempt.unlock();
    }
  }
}

function removeUnlessInUse(path: string, pid: number): void {
  const isBeingWritten = isProbablyRunning({ pid, startTicks: null, bootId: null });
  if (isBeingWritten || lockFileHolder(path) !== null) return;
  try {
    rmSync(path, { force: true });
  } catch {
    // Somebody else's, in a folder that all share.
  }
}

interface LockContent {
  readonly text: string;
  readonly mtimeMs: number;
}

function holderIn({ text, mtimeMs }: LockContent): HeldLock | null {
  const parsed = parsedOrNull(text);
  if (!isRecord(parsed)) return null;
  const owner = readOwner(parsed);
  if (owner === null) {
    const identity = readIdentity(parsed);
    const isHeld = identity !== null && isProbablyRunning(identity);
    return isHeld ? { kind: 'held', pid: identity.pid, isLeft: false } : null;
  }
  const state = ownerState(owner);
  // A time that lies ahead was written by no clock that could be trusted.
  const isBeating = Math.abs(Date.now() - mtimeMs) < SILENT_MS;
  if (state === 'running' || (state === 'unseen' && isBeating)) {
    return { kind: 'held', pid: owner.pid, isLeft: false };
  }
  const started = state === 'gone' ? startedIn(parsed) : null;
  return started !== null && isGroupRunning(started) ? { kind: 'held', pid: started.pid, isLeft: true } : null;
}

function startedIn({ started }: Readonly<Record<string, unknown>>): ProcessIdentity | null {
  return isRecord(started) ? readIdentity(started) : null;
}

function taken(path: string, mine: string, own: object, { makeFolder }: LockUse): TakenLock {
  let content = JSON.stringify(own);
  const timer = setInterval(() => {
    try {
      const now = new Date();
      utimesSync(path, now, now);
    } catch (error) {
      // With its folder it was removed: it is put back before somebody else finds the lock free.
      if (isMissing(error) && makeFolder !== undefined) putBack();
    }
  }, HEARTBEAT_MS).unref();
  const putBack = (): void => {
    try {
      makeFolder?.();
      writeFileSync(mine, content);
      tryLink(mine, path);
      rmSync(mine, { force: true });
    } catch {
      // The next beat tries it again.
    }
  };
  return {
    kind: 'taken',
    unlock: () => {
      clearInterval(timer);
      if (contentOf(path)?.text === content) rmSync(path, { force: true });
    },
    holdFor: (pid) => {
      if (contentOf(path)?.text !== content) return;
      const next = JSON.stringify({ ...own, started: identityOf(pid) });
      writeFileSync(mine, next);
      renameSync(mine, path);
      content = next;
    },
  };
}

/**
 * Removes a lock whose process is gone. Each such lock may be removed by one process only, which holds a lock of its own
 * for that: else one that looked a moment ago would remove the lock of one that has taken it since.
 * @returns the process that is removing it; null when it is gone, or may not be removed
 */
function takeAway(path: string, left: LockContent, { endLeft }: LockUse): HeldLock | null {
  const name = createHash('sha256').update(left.text).digest('hex').slice(0, 16);
  const guard = takeLockFile(`${path}.after-${name}`);
  if (guard.kind !== 'taken') return guard.kind === 'held' ? guard : null;
  try {
    if (contentOf(path)?.text !== left.text) return null;
    endLeft?.();
    rmSync(path, { force: true });
  } catch {
    // Somebody else's, in a folder that all share.
  } finally {
    guard.unlock();
  }
  return null;
}

/** Text and time of one and the same file, whatever comes to that name meanwhile. */
function contentOf(path: string): LockContent | null {
  try {
    const file = openSync(path, 'r');
    try {
      return { text: readFileSync(file, 'utf8'), mtimeMs: fstatSync(file).mtimeMs };
    } finally {
      closeSync(file);
    }
  } catch {
    return null;
  }
}

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
