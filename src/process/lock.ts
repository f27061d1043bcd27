import * as fs from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import * as z from 'zod';

import { EnvironmentLackingError, InterruptedError, errorCode, errorText, orNull } from '../errors.ts';
import { namesIn, sizeOf } from '../files/folders.ts';
import { printable } from '../text/printable.ts';
import { askNow, problemOf } from './ask.ts';
import type { EnvironmentVariables } from './environment-variables.ts';
import { otherSystem } from './system.ts';

/**
 * A process with a lock, for messages only; the kernel alone knows whether it holds the lock. Null if the file does not
 * state it.
 */
const holderSchema = z.object({ pid: z.number().nullable(), host: z.string().nullable() });

export type LockHolder = Readonly<z.infer<typeof holderSchema>>;

export interface LockOptions {
  /** The folder is shared by all users, and so is the file. */
  readonly isShared?: boolean;
  /** Makes the folder of the lock if it is missing; without this function, a missing folder is an error. */
  readonly makeFolder?: () => void;
  /** Is in the file while the lock is held. */
  readonly note?: object;
  /** Ends processes of a killed bench, which may hold the lock. */
  readonly endLeft?: () => void;
}

export interface LockWait {
  readonly signal: AbortSignal;
  /** Called once, if the wait takes longer than a moment. */
  readonly onWait: (holder: LockHolder) => void;
}

/**
 * A file lock (`flock`) that the kernel holds for this process and for those that inherit its descriptor. It is
 * released when the last of them ends, in any way. It works between all processes of a machine that see the same file,
 * in any container. The file stays; its line of JSON is for messages, and keeps the note.
 */
export class Lock {
  /** For a process that is started under the lock and then also holds it. */
  readonly descriptor: number;
  private isHeld = true;

  /**
   * @param descriptor descriptor of the locked file
   * @param note more about what it is held for
   */
  constructor(descriptor: number, note: object = {}) {
    this.descriptor = descriptor;
    this.write(JSON.stringify({ pid: process.pid, host: hostname(), ...note }));
  }

  /** Others wait for the process started under the lock, even if this process is killed. */
  noteHolder(pid: number): void {
    this.write(JSON.stringify({ pid, host: hostname() }));
  }

  /** Idempotent. @param keepsNote leaves the note in the file, for the next process that takes the lock */
  release(keepsNote = false): void {
    if (!this.isHeld) return;
    this.isHeld = false;
    if (!keepsNote) this.write('');
    fs.closeSync(this.descriptor);
  }

  /** May fail on a full disk, or in a file of another user. */
  private write(holder: string): void {
    orNull(() => {
      fs.ftruncateSync(this.descriptor, 0);
      fs.writeSync(this.descriptor, holder, 0);
    });
  }
}

/** Number of tries, because a check for a holder takes the lock for a moment. */
const LOOKS = 10;

/**
 * The lock, or the process that has it. The folder of the lock must exist.
 * @throws EnvironmentLackingError if locking fails there
 */
export function tryAcquire(path: string, options: LockOptions = {}): Lock | LockHolder {
  const descriptor = openLockFile(path, options);
  let isTaken = false;
  try {
    for (let looks = 1; ; looks += 1) {
      isTaken = flock('exclusive', descriptor, path);
      const holder = readHolder(descriptor);
      if (isTaken) {
        // A process that left its name in the file was killed.
        if (holder.pid !== null) options.endLeft?.();
        return new Lock(descriptor, options.note);
      }
      if (holder.pid !== null || looks === LOOKS) return holder;
    }
  } finally {
    if (!isTaken) fs.closeSync(descriptor);
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
    if (attempt instanceof Lock) return attempt;
    // Ends leftover processes of this user; those of another user must end on their own.
    options.endLeft?.();
    // Jitter: waiters should not all retry at once.
    await sleep(waitMs * (0.5 + Math.random()), undefined, { signal: wait.signal }).catch(() => {});
    if (waitMs === LONGEST_WAIT_MS) continue;
    waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 1.5);
    if (waitMs === LONGEST_WAIT_MS) wait.onWait(attempt);
  }
}

/** The current holder of a lock; null if it is free. */
export function lockHolder(path: string): LockHolder | null {
  const descriptor = orNull(() => fs.openSync(path, fs.constants.O_RDONLY | SAFELY));
  if (descriptor === null) return null;
  try {
    return flock('shared', descriptor, path) ? null : readHolder(descriptor);
  } catch (error) {
    // The state cannot be determined, so use the content of the file.
    if (error instanceof EnvironmentLackingError) return readHolder(descriptor);
    throw error;
  } finally {
    fs.closeSync(descriptor);
  }
}

/** Returns `process 12`, with the host if it differs. */
export function holderText({ host, pid }: LockHolder): string {
  if (pid === null) return 'another process';
  return host === null || host === hostname() ? `process ${pid}` : `process ${pid} on ${host}`;
}

const MAX_BYTES = 4096;

function readHolder(descriptor: number): LockHolder {
  const buffer = Buffer.alloc(MAX_BYTES);
  const text = buffer.toString('utf8', 0, fs.readSync(descriptor, buffer, 0, MAX_BYTES, 0));
  return orNull(() => holderSchema.parse(JSON.parse(text))) ?? { pid: null, host: null };
}

/** In a shared folder, do not follow another user's link or block on a pipe. */
const SAFELY = fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK;
const SHARED_FILE_MODE = 0o666;

function openLockFile(path: string, options: LockOptions): number {
  try {
    // Omits O_CREAT, which the kernel refuses for another user's file in a sticky folder.
    return regular(fs.openSync(path, fs.constants.O_RDWR | SAFELY), path);
  } catch (error) {
    const code = errorCode(error);
    // A file that only another user may write can still be locked.
    const mayWrite = orNull(() => fs.accessSync(dirname(path), fs.constants.W_OK | fs.constants.X_OK)) !== null;
    if (code === 'EACCES' && mayWrite) return regular(fs.openSync(path, fs.constants.O_RDONLY | SAFELY), path);
    if (['EISDIR', 'ELOOP', 'ENXIO'].includes(code)) throw notALock(path, error);
    if (code !== 'ENOENT') throw error;
  }
  try {
    options.makeFolder?.();
    const descriptor = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL | SAFELY);
    if (options.isShared === true) fs.fchmodSync(descriptor, SHARED_FILE_MODE);
    return descriptor;
  } catch (error) {
    // Another process made it in the meantime.
    if (errorCode(error) === 'EEXIST') return openLockFile(path, options);
    throw error;
  }
}

function regular(descriptor: number, path: string): number {
  if (fs.fstatSync(descriptor).isFile()) return descriptor;
  fs.closeSync(descriptor);
  throw notALock(path, null);
}

function notALock(path: string, cause: unknown): EnvironmentLackingError {
  return new EnvironmentLackingError(`${printable(path)} cannot be opened as a lock; remove it by hand`, { cause });
}

/** Exit code of util-linux and busybox when another process has the lock. */
const IS_HELD = 1;

/**
 * Runs `flock`, because Node has no such function. The program locks the inherited open file description, which this
 * process shares, so that the lock persists when the program ends. Locks of SQLite and fcntl belong to one process and
 * are not inherited.
 * @returns false if another process has the lock
 */
function flock(kind: 'exclusive' | 'shared', descriptor: number, path: string): boolean {
  const env = { PATH: [process.env['PATH'] ?? '', '/usr/bin', '/bin'].join(':') };
  const answer = askNow('flock', [kind === 'shared' ? '-s' : '-x', '-n', '3'], { env, descriptor });
  if (answer.kind === 'answered') return true;
  if (answer.kind === 'refused' && answer.exitCode === IS_HELD && answer.stderr.trim() === '') return false;
  if (answer.kind !== 'missing') {
    throw new EnvironmentLackingError(`${printable(path)} cannot be locked: ${problemOf(answer)}`);
  }
  const what = 'flock not found: bench needs it for its locks; install util-linux, which contains it';
  throw otherSystem() ?? new EnvironmentLackingError(what);
}

/** Folder of locks across processes, users and stores: `$BENCH_LOCK_DIR`, else one per machine. */
export function lockFolder(env: EnvironmentVariables): string {
  return env['BENCH_LOCK_DIR'] || join(tmpdir(), 'trtbench-locks');
}

/** Sticky: every user may add a lock, but may remove only their own. */
const SHARED_FOLDER_MODE = 0o1777;

/** @throws EnvironmentLackingError if the folder cannot be created or written */
export function makeLockFolder(env: EnvironmentVariables): string {
  const folder = resolve(lockFolder(env));
  try {
    makeFolder(folder);
    fs.accessSync(folder, fs.constants.W_OK | fs.constants.X_OK);
  } catch (error) {
    throw new EnvironmentLackingError(
      `${printable(folder)}: locks cannot be kept there (${errorText(error)}): set BENCH_LOCK_DIR to a folder that may be written`,
      { cause: error },
    );
  }
  orNull(() => fs.chmodSync(folder, SHARED_FOLDER_MODE));
  return folder;
}

/** `fs.mkdirSync` with `recursive` never returns if the kernel forbids folders, as in /proc. */
function makeFolder(folder: string): void {
  if (fs.existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    fs.mkdirSync(folder);
  } catch (error) {
    // Another process may have made it in the meantime.
    if (!fs.existsSync(folder)) throw error;
  }
}

/** Names of records of locked clocks. Every command looks for them, so this must be fast. */
export function clockRecordNames(env: EnvironmentVariables): string[] {
  const folder = lockFolder(env);
  return namesIn(folder).filter((name) => /^clocks-.+\.json$/.test(name) && sizeOf(join(folder, name)) > 0);
}
