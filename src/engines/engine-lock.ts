import { join } from 'node:path';

import { acquire, type Lock, lockHolder, type LockWait, tryAcquire } from '../process/lock.ts';

const LOCK = '.lock';

/** One worker at a time for each name, over all processes and within this one. */
export class EngineLocks {
  private readonly folder: string;
  private readonly queues = new Map<string, Promise<void>>();
  private readonly held = new Set<string>();

  constructor(folder: string) {
    this.folder = folder;
  }

  /**
   * @param work is told whether nothing can be written: then there is no lock, and nobody who could write
   * @throws InterruptedError when the wait is broken off
   */
  hold<Result>(name: string, waiting: LockWait, work: (isReadOnly: boolean) => Promise<Result>): Promise<Result> {
    const before = this.queues.get(name) ?? Promise.resolve();
    const mine = before.then(() => this.locked(name, waiting, work));
    const settled = mine.then(
      () => {},
      () => {},
    );
    this.queues.set(name, settled);
    return mine;
  }

  /** Does it now, or not at all: null when another has the lock. */
  async tryHold<Result>(name: string, work: () => Promise<Result>): Promise<Result | null> {
    if (this.held.has(name)) return work();
    const attempt = tryAcquire(this.pathOf(name));
    if (attempt.kind !== 'taken') return null;
    try {
      return await work();
    } finally {
      attempt.lock.release();
    }
  }

  isHeld(name: string): boolean {
    return lockHolder(this.pathOf(name)) !== null;
  }

  private async locked<Result>(
    name: string,
    waiting: LockWait,
    work: (isReadOnly: boolean) => Promise<Result>,
  ): Promise<Result> {
    const lock = await acquireOrNull(this.pathOf(name), waiting);
    if (lock === null) return work(true);
    this.held.add(name);
    try {
      return await work(false);
    } finally {
      this.held.delete(name);
      lock.release();
    }
  }

  private pathOf(name: string): string {
    return join(this.folder, `${name}${LOCK}`);
  }
}

const NOT_WRITABLE: readonly unknown[] = ['EACCES', 'EPERM', 'EROFS'];

/** Null where nothing can be written. */
async function acquireOrNull(path: string, waiting: LockWait): Promise<Lock | null> {
  try {
    return await acquire(path, waiting);
  } catch (error) {
    if (isNotWritable(error)) return null;
    throw error;
  }
}

export function isNotWritable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && NOT_WRITABLE.includes(error.code);
}
