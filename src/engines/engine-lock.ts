import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

import { InterruptedError, UsageError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { lockFileHolder, takeLockFile } from '../process/lock-file.ts';

const LOCK = '.lock';

const POLL_MS = 200;
/** To look at an engine takes no longer: nobody need be told of that. */
const UNTOLD_POLLS = 3;

export interface LockWait {
  readonly signal: AbortSignal;
  /** Called once when another process has the lock for longer than a look takes. */
  readonly onWait: (pid: number) => void;
}

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
    const attempt = takeLockFile(this.pathOf(name));
    if (attempt.kind !== 'taken') return null;
    try {
      return await work();
    } finally {
      attempt.unlock();
    }
  }

  isHeld(name: string): boolean {
    return lockFileHolder(this.pathOf(name)) !== null;
  }

  private async locked<Result>(
    name: string,
    waiting: LockWait,
    work: (isReadOnly: boolean) => Promise<Result>,
  ): Promise<Result> {
    const unlock = await this.take(name, waiting);
    if (unlock === null) return work(true);
    this.held.add(name);
    try {
      return await work(false);
    } finally {
      this.held.delete(name);
      unlock();
    }
  }

  private async take(name: string, { signal, onWait }: LockWait): Promise<(() => void) | null> {
    const path = this.pathOf(name);
    for (let polls = 0; ; polls += 1) {
      const attempt = takeOrNull(path);
      if (attempt === null) return null;
      if (attempt.kind === 'taken') return attempt.unlock;
      if (attempt.kind === 'stuck') throw new UsageError(`${printable(path)}: remove this file`);
      if (polls === UNTOLD_POLLS) onWait(attempt.pid);
      try {
        await wait(POLL_MS, undefined, { signal });
      } catch (error) {
        throw new InterruptedError('interrupted', { cause: error });
      }
    }
  }

  private pathOf(name: string): string {
    return join(this.folder, `${name}${LOCK}`);
  }
}

const NOT_WRITABLE: readonly unknown[] = ['EACCES', 'EPERM', 'EROFS'];

/** Null where nothing can be written. */
function takeOrNull(path: string): ReturnType<typeof takeLockFile> | null {
  try {
    return takeLockFile(path);
  } catch (error) {
    if (isNotWritable(error)) return null;
    throw error;
  }
}

export function isNotWritable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && NOT_WRITABLE.includes(error.code);
}
