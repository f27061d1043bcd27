import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  readdirSync,
  writeSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import * as z from 'zod';

import { EnvironmentLackingError, InterruptedError, errorCode, errorText } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { askNow } from './ask.ts';
import type { EnvironmentVariables } from './environment-variables.ts';
import { orNull } from './process-identity.ts';
import { otherSystem } from './system.ts';

/** A process with a lock, for messages: only the kernel knows whether it is held. Null where the file does not state it. */
const holderSchema = z.object({ pid: z.number().nullable(), host: z.string().nullable() });

export type LockHolder = Readonly<z.infer<typeof holderSchema>>;

export interface LockOptions {
  /** The folder is for all users, so the file is, too. */
  readonly isShared?: boolean;
  /** Makes the folder of the lock where it is gone; without it that is an error. */
  readonly makeFolder?: () => void;
  /** Ends processes left by a killed bench, which may hold the lock. */
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

/**
 * A file lock (`flock`), held by the kernel for this process and for those that inherit its descriptor: released when
 * the last of them ends, in any way. It works between all processes of a machine, in any container, that see the same
 * file. The file stays; its one line of JSON is for messages only.
 */
export class Lock {
  /** For a process started under the lock: it holds the lock as well, while it lives. */
  readonly descriptor: number;
  private isHeld = true;

  /** @param descriptor of the file, already locked */
  constructor(descriptor: number) {
    this.descriptor = descriptor;
    this.noteHolder(process.pid);
  }

  /** A process started under the lock is what others wait for, also when this one is killed. */
  noteHolder(pid: number): void {
    this.write(JSON.stringify({ pid, host: hostname() } satisfies LockHolder));
  }

  /** Idempotent. */
  release(): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    this.write('');
    closeSync(this.descriptor);
  }

  /** May fail on a full disk, or in another user's file. */
  private write(holder: string): void {
    orNull(() => {
      ftruncateSync(this.descriptor, 0);
      writeSync(this.descriptor, holder, 0);
    });
  }
}

/** Looking whether a lock is held takes it for a moment, too. */
const LOOKS = 10;

/** @throws EnvironmentLackingError if locking fails there; its folder must exist */
export function tryAcquire(path: string, options: LockOptions = {}): LockAttempt {
  const descriptor = openLockFile(path, options);
  let isTaken = false;
  try {
    for (let looks = 1; ; looks += 1) {
      isTaken = flock('exclusive', descriptor, path);
      const holder = readHolder(descriptor);
      if (isTaken) {
        // One that did not take its name out was killed.
        if (holder.pid !== null) options.endLeft?.();
        return { kind: 'taken', lock: new Lock(descriptor) };
      }
      if (holder.pid !== null || looks === LOOKS) return { kind: 'held', holder };
    }
  } finally {
    if (!isTaken) closeSync(descriptor);
  }
}

const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 500;

/**
 * @throws InterruptedError when the wait is aborted
 * @throws EnvironmentLackingError if locking fails there
 */
export async function acquire(path: string, wait: LockWait, options: LockOptions = {}): Promise<Lock> {
  let waitMs = FIRST_WAIT_MS;
  for (;;) {
    if (wait.signal.aborted) throw new InterruptedError('interrupted', { cause: wait.signal.reason });
    const attempt = tryAcquire(path, options);
    if (attempt.kind === 'taken') return attempt.lock;
    // Another user's processes must end by themselves.
    if (waitMs === FIRST_WAIT_MS) options.endLeft?.();
    // Jitter: waiters should not all retry at once.
    await sleep(waitMs * (0.5 + Math.random()), undefined, { signal: wait.signal }).catch(() => {});
    if (waitMs === LONGEST_WAIT_MS) continue;
    waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 1.5);
    if (waitMs === LONGEST_WAIT_MS) wait.onWait(attempt.holder);
  }
}

/** The current holder of a lock; null if it is free. Changes nothing. */
export function lockHolder(path: string): LockHolder | null {
  const descriptor = orNull(() => openSync(path, constants.O_RDONLY | SAFELY));
  if (descriptor === null) return null;
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

/** `process 12`, with its host if that differs. */
export function holderText({ host, pid }: LockHolder): string {
  if (pid === null) return 'another process';
  return host === null || host === hostname() ? `process ${pid}` : `process ${pid} on ${host}`;
}

const MAX_BYTES = 4096;

function readHolder(descriptor: number): LockHolder {
  const buffer = Buffer.alloc(MAX_BYTES);
  const text = buffer.toString('utf8', 0, readSync(descriptor, buffer, 0, MAX_BYTES, 0));
  return orNull(() => holderSchema.parse(JSON.parse(text))) ?? { pid: null, host: null };
}

/** In a shared folder, do not follow another user's link or block on a pipe. */
const SAFELY = constants.O_NOFOLLOW | constants.O_NONBLOCK;
const SHARED_FILE_MODE = 0o666;

function openLockFile(path: string, options: LockOptions): number {
  try {
    // Without O_CREAT, which the kernel refuses for another user's file in a sticky folder.
    return regular(openSync(path, constants.O_RDWR | SAFELY), path);
  } catch (error) {
    const code = errorCode(error);
    // A file of another user that only he may write can be locked anyway.
    const mayWrite = orNull(() => accessSync(dirname(path), constants.W_OK | constants.X_OK)) !== null;
    if (code === 'EACCES' && mayWrite) return regular(openSync(path, constants.O_RDONLY | SAFELY), path);
    if (['EISDIR', 'ELOOP', 'ENXIO'].includes(code)) throw notALock(path, error);
    if (code !== 'ENOENT') throw error;
  }
  try {
    options.makeFolder?.();
    const descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | SAFELY);
    if (options.isShared === true) fchmodSync(descriptor, SHARED_FILE_MODE);
    return descriptor;
  } catch (error) {
    // Another process has made it meanwhile.
    if (errorCode(error) === 'EEXIST') return openLockFile(path, options);
    throw error;
  }
}

function regular(descriptor: number, path: string): number {
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw notALock(path, null);
}

function notALock(path: string, cause: unknown): EnvironmentLackingError {
  return new EnvironmentLackingError(`${printable(path)} cannot be opened as a lock; remove it by hand`, { cause });
}

/** Exit code of util-linux and busybox if another process has the lock. */
const IS_HELD = 1;
const TRIES_AFTER_SIGNAL = 3;

/**
 * Node has no flock. The program locks the inherited open file description, which this process shares: so the lock
 * persists when the program ends. SQLite's and fcntl locks belong to one process and are not inherited.
 * @returns false if another process has it
 */
function flock(kind: 'exclusive' | 'shared', descriptor: number, path: string): boolean {
  const env = { PATH: [process.env['PATH'] ?? '', '/usr/bin', '/bin'].join(':') };
  for (let tries = 1; ; tries += 1) {
    const answer = askNow('flock', [kind === 'shared' ? '-s' : '-x', '-n', '3'], { env, descriptor });
    if (answer.kind === 'answered') return true;
    if (answer.kind === 'silent') return false;
    if (answer.kind === 'missing') {
      const what = 'flock not found: bench needs it for its locks; install util-linux, which contains it';
      throw otherSystem() ?? new EnvironmentLackingError(what);
    }
    if (answer.exitCode === IS_HELD && answer.stderr.trim() === '') return false;
    // A Ctrl-C at the terminal ends it as well.
    if (answer.signal !== null && tries < TRIES_AFTER_SIGNAL) continue;
    throw new EnvironmentLackingError(`${printable(path)} cannot be locked: ${answer.problem}`);
  }
}

/** Folder of locks that hold across processes, users and stores: `$BENCH_LOCK_DIR`, else one per machine. */
export function lockFolder(env: EnvironmentVariables): string {
  return env['BENCH_LOCK_DIR'] || join(tmpdir(), 'trtbench-locks');
}

/** Sticky: every user may add a lock, and remove only their own. */
const SHARED_FOLDER_MODE = 0o1777;

/** @throws EnvironmentLackingError if the folder cannot be created or written */
export function makeLockFolder(env: EnvironmentVariables): string {
  const folder = resolve(lockFolder(env));
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new EnvironmentLackingError(
      `${printable(folder)}: locks cannot be kept there (${errorText(error)}): set BENCH_LOCK_DIR to a folder that may be written`,
      { cause: error },
    );
  }
  orNull(() => chmodSync(folder, SHARED_FOLDER_MODE));
  return folder;
}

/** `mkdirSync` with `recursive` never returns where the kernel forbids folders, as in /proc. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another process has made it meanwhile.
    if (!existsSync(folder)) throw error;
  }
}

const CLOCK_RECORD = /^clocks-(.+)\.json$/;

export function clockRecordName(gpuUuid: string): string {
  return `clocks-${gpuUuid}.json`;
}

/** Records of locked clocks. Every command looks, so this must be cheap. */
export function clockRecordNames(env: EnvironmentVariables): string[] {
  return (orNull(() => readdirSync(lockFolder(env))) ?? []).filter((name) => CLOCK_RECORD.test(name));
}
