import { accessSync, closeSync, constants, fchmodSync, fstatSync, openSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { EnvironmentLackingError, InterruptedError, errorCode } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { askNow } from './ask.ts';
import { otherSystem } from './system.ts';
import { clearHolder, type LockHolder, readHolder, UNKNOWN_HOLDER, writeHolder } from './lock-holder.ts';

export interface LockOptions {
  /** The folder is for all users, so the file is, too. */
  readonly isShared?: boolean;
  /** Recreates a removed lock folder; without it that is an error. */
  readonly makeFolder?: () => void;
  /** Ends processes left by a bench that was killed while holding the lock. */
  readonly endLeft?: () => void;
}

export interface LockWait {
  readonly signal: AbortSignal;
  /** Called once, if the wait takes longer than a moment. */
  readonly onWait: (holder: LockHolder) => void;
}

export type LockAttempt =
  | { readonly kind: 'taken'; readonly lock: Lock }
  | { readonly kind: 'held'; readonly holder: LockHolder };

const MAX_TRIES = 20;
/** Probing whether a lock is held takes it for a moment, too. */
const LOOKS = 10;

/**
 * A file lock (`flock`), held by the kernel for this process and for those that inherit its descriptor: released when
 * the last of them ends, in any way. It works between all processes of a machine, in any container, that see the same
 * file. The file's content is for messages only.
 */
export class Lock {
  /** For a process started under the lock: it holds the lock as well, while it lives. */
  readonly descriptor: number;
  private readonly path: string;
  private isHeld = true;
  private isGiven = false;

  /** @param descriptor of the file, already locked */
  constructor(path: string, descriptor: number) {
    this.path = path;
    this.descriptor = descriptor;
    writeHolder(descriptor, null);
  }

  /** False if the file was removed meanwhile, alone or with its folder: others no longer see this lock. */
  isInPlace(): boolean {
    return isFileAt(this.path, this.descriptor);
  }

  noteStarted(pid: number): void {
    this.isGiven = true;
    writeHolder(this.descriptor, pid);
  }

  /** Idempotent. */
  release(): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    clearHolder(this.descriptor);
    if (!this.isGiven && this.isInPlace()) removeIfAllowed(this.path);
    closeSync(this.descriptor);
    if (this.isGiven) removeIfFree(this.path);
  }
}

/** @throws EnvironmentLackingError if locking fails there; its folder must exist */
export function tryAcquire(path: string, options: LockOptions = {}): LockAttempt {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const descriptor = openLockFile(path, options);
    let isTaken = false;
    try {
      if (flock('exclusive', descriptor, path)) {
        // The last holder may have removed the file before it was locked here.
        if (!isFileAt(path, descriptor)) continue;
        if (readHolder(descriptor).isGone) options.endLeft?.();
        isTaken = true;
        return { kind: 'taken', lock: new Lock(path, descriptor) };
      }
      const holder = readHolder(descriptor);
      if (holder.pid !== null || tries >= LOOKS) return { kind: 'held', holder };
    } finally {
      if (!isTaken) closeSync(descriptor);
    }
  }
  return { kind: 'held', holder: UNKNOWN_HOLDER };
}

const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 500;

/**
 * @throws InterruptedError when the wait is aborted
 * @throws EnvironmentLackingError if locking fails there
 */
export async function acquire(path: string, wait: LockWait, options: LockOptions = {}): Promise<Lock> {
  let waitMs = FIRST_WAIT_MS;
  let endedOf: number | null | undefined;
  for (;;) {
    if (wait.signal.aborted) throw new InterruptedError('interrupted', { cause: wait.signal.reason });
    const attempt = tryAcquire(path, options);
    if (attempt.kind === 'taken') return attempt.lock;
    const { holder } = attempt;
    if (holder.isGone && holder.pid !== endedOf) {
      endedOf = holder.pid;
      // Another user's processes must end by themselves.
      options.endLeft?.();
    }
    // Jitter: waiters should not all retry at once.
    await sleep(waitMs * (0.5 + Math.random()), undefined, { signal: wait.signal }).catch(() => {});
    if (waitMs === LONGEST_WAIT_MS) continue;
    waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 1.5);
    if (waitMs === LONGEST_WAIT_MS) wait.onWait(holder);
  }
}

/** The current holder of a lock; null if it is free. Changes nothing. */
export function lockHolder(path: string): LockHolder | null {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | SAFELY);
  } catch {
    return null;
  }
  try {
    return flock('shared', descriptor, path) ? null : readHolder(descriptor);
  } catch (error) {
    // It cannot be determined: use what the file states.
    if (error instanceof EnvironmentLackingError) return readHolder(descriptor);
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** In a shared folder, do not follow another user's link or block on a pipe. */
const SAFELY = constants.O_NOFOLLOW | constants.O_NONBLOCK;
const SHARED_MODE = 0o666;

function openLockFile(path: string, { isShared = false, makeFolder }: LockOptions): number {
  let problem: unknown;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    try {
      // Without O_CREAT, which the kernel refuses for another user's file in a sticky folder.
      return regular(openSync(path, constants.O_RDWR | SAFELY), path);
    } catch (error) {
      problem = error;
      const code = errorCode(error);
      if (code === 'EACCES' && isWritable(dirname(path))) return openToRead(path);
      if (code === 'EISDIR' || code === 'ELOOP' || code === 'ENXIO') throw notALock(path, error);
      if (code !== 'ENOENT') throw error;
    }
    try {
      const descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | SAFELY);
      if (isShared) fchmodSync(descriptor, SHARED_MODE);
      return descriptor;
    } catch (error) {
      problem = error;
      const code = errorCode(error);
      if (code === 'ENOENT' && makeFolder !== undefined) makeFolder();
      else if (code !== 'EEXIST') throw error;
    }
  }
  throw problem;
}

/** A file of another user that only he may write can be locked anyway. */
function openToRead(path: string): number {
  try {
    return regular(openSync(path, constants.O_RDONLY | SAFELY), path);
  } catch (error) {
    throw notALock(path, error);
  }
}

function regular(descriptor: number, path: string): number {
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw notALock(path, null);
}

function notALock(path: string, cause: unknown): EnvironmentLackingError {
  return new EnvironmentLackingError(`${printable(path)}: cannot be opened as a lock; remove it by hand`, { cause });
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const FLAGS = { exclusive: '-x', shared: '-s' } as const;
/** Exit code of util-linux and busybox if another process has the lock. */
const IS_HELD = 1;
const TRIES_AFTER_SIGNAL = 3;

/**
 * Node has no flock. The program locks the inherited open file description, which this process shares: so the lock
 * persists when the program ends. SQLite's and fcntl locks belong to one process and are not inherited.
 * @returns false if another process has it
 */
function flock(kind: keyof typeof FLAGS, descriptor: number, path: string): boolean {
  const env = { PATH: [process.env['PATH'] ?? '', '/usr/bin', '/bin'].join(':') };
  for (let tries = 1; ; tries += 1) {
    const answer = askNow('flock', [FLAGS[kind], '-n', '3'], { env, descriptor });
    switch (answer.kind) {
      case 'answered':
        return true;
      case 'missing':
        throw (
          otherSystem() ??
          new EnvironmentLackingError(
            'flock: no such program: bench takes its locks with it; install util-linux, which has it',
          )
        );
      case 'silent':
        return false;
      case 'refused':
        if (answer.exitCode === IS_HELD && answer.stderr.trim() === '') return false;
        // A Ctrl-C at the terminal ends it as well.
        if (answer.signal !== null && tries < TRIES_AFTER_SIGNAL) continue;
        throw new EnvironmentLackingError(`${printable(path)}: cannot be locked: ${answer.problem}`);
    }
  }
}

function isFileAt(path: string, descriptor: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  const { dev, ino } = fstatSync(descriptor);
  return found?.dev === dev && found.ino === ino;
}

/** A process that inherited the lock may still run: the next one must find the same file. */
function removeIfFree(path: string): void {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDWR | SAFELY);
  } catch {
    return;
  }
  try {
    if (flock('exclusive', descriptor, path) && isFileAt(path, descriptor)) removeIfAllowed(path);
  } finally {
    closeSync(descriptor);
  }
}

function removeIfAllowed(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // In a sticky folder only the owner may.
  }
}
