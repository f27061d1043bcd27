import { rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { namesIn, readJson } from '../artefacts/folders.ts';
import { isNotWritable } from './engine-index.ts';
import { acquire, lockHolder, type LockWait, tryAcquire } from '../process/lock.ts';
import { identityOf, identitySchema, isProbablyRunning, orNull } from '../process/process-identity.ts';

const LOCK = '.lock';
const USE = '.use-';
const USED = '.used';

/**
 * Who uses an engine now, and when it was last used. Each name has a lock, across processes and within this one. Marks
 * are empty files next to the engine, so that nothing is rewritten. A mark whose process has ended does not count.
 */
export class EngineUses {
  private readonly folder: string;
  private readonly held = new Set<string>();
  private readonly marked = new Set<string>();

  constructor(folder: string) {
    this.folder = folder;
  }

  /**
   * @param work receives true if nothing can be written: then there is no lock, and no other process could write either
   * @throws InterruptedError when the wait is interrupted
   */
  async hold<Result>(name: string, waiting: LockWait, work: (isReadOnly: boolean) => Promise<Result>): Promise<Result> {
    const lock = await acquire(this.pathOf(name, LOCK), waiting).catch((error: unknown) => {
      if (isNotWritable(error)) return null;
      throw error;
    });
    if (lock === null) return work(true);
    this.held.add(name);
    try {
      return await work(false);
    } finally {
      this.held.delete(name);
      lock.release();
    }
  }

  /** Null if the lock is taken. */
  async tryHold<Result>(name: string, work: () => Promise<Result>): Promise<Result | null> {
    if (this.held.has(name)) return work();
    const attempt = tryAcquire(this.pathOf(name, LOCK));
    if (attempt.kind !== 'taken') return null;
    try {
      return await work();
    } finally {
      attempt.lock.release();
    }
  }

  isHeld(name: string): boolean {
    return lockHolder(this.pathOf(name, LOCK)) !== null;
  }

  /** Call this before you look at the engine: from then on it is not removed. */
  mark(name: string, now: Date): void {
    if (this.marked.has(name)) return;
    this.marked.add(name);
    // In a read-only folder engines are not removed either.
    orNull(() => {
      writeFileSync(this.pathOf(name, USE + process.pid), JSON.stringify(identityOf(process.pid)));
      writeFileSync(this.pathOf(name, USED), '');
      utimesSync(this.pathOf(name, USED), now, now);
    });
  }

  release(): void {
    for (const name of this.marked) orNull(() => rmSync(this.pathOf(name, USE + process.pid), { force: true }));
    this.marked.clear();
  }

  forget(name: string): void {
    rmSync(this.pathOf(name, USED), { force: true });
  }

  lastUsed(name: string): Date | null {
    return statSync(this.pathOf(name, USED), { throwIfNoEntry: false })?.mtime ?? null;
  }

  private pathOf(name: string, ending: string): string {
    return join(this.folder, name + ending);
  }
}

export function usersOf(folder: string, name: string, names: readonly string[]): number[] {
  return names
    .filter((entry) => entry.startsWith(`${name}${USE}`))
    .flatMap((entry) => liveProcess(join(folder, entry)) ?? []);
}

export function removeStaleUses(folder: string): void {
  for (const entry of namesIn(folder)) {
    const path = join(folder, entry);
    if (entry.includes(USE) && liveProcess(path) === null) rmSync(path, { force: true });
  }
}

function liveProcess(path: string): number | null {
  const identity = readJson(path, identitySchema);
  return identity !== null && isProbablyRunning(identity) ? identity.pid : null;
}
