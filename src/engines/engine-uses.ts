import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { namesIn } from '../artefacts/names-and-sizes.ts';
import { isRecord } from '../text/unknown-values.ts';
import { identityOf, isProbablyRunning, readIdentity } from '../process/process-identity.ts';

const USE = '.use-';
const USED = '.used';

/**
 * Who works with an engine now, and when it was last worked with: empty files beside it, so that nothing is rewritten
 * for it. A mark whose process is gone counts for nothing.
 */
export class EngineUses {
  private readonly folder: string;
  private readonly mine = new Set<string>();

  constructor(folder: string) {
    this.folder = folder;
  }

  /** To be called before the engine is looked at: it is not taken away any more then. */
  mark(name: string, now: Date): void {
    if (this.mine.has(name)) return;
    this.mine.add(name);
    // In a folder that cannot be written nobody takes anything away either.
    attempt(() => writeFileSync(this.markPath(name), JSON.stringify(identityOf(process.pid))));
    attempt(() => {
      const path = join(this.folder, `${name}${USED}`);
      writeFileSync(path, '');
      utimesSync(path, now, now);
    });
  }

  /** To be called when this process needs none of them any more. */
  release(): void {
    for (const name of this.mine) attempt(() => rmSync(this.markPath(name), { force: true }));
    this.mine.clear();
  }

  lastUsed(name: string): Date | null {
    const found = statSync(join(this.folder, `${name}${USED}`), { throwIfNoEntry: false });
    return found?.mtime ?? null;
  }

  private markPath(name: string): string {
    return join(this.folder, `${name}${USE}${process.pid}`);
  }
}

/** The processes that work with an engine, by the names in its folder. */
export function usersOf(folder: string, name: string, names: readonly string[]): number[] {
  return names
    .filter((entry) => entry.startsWith(`${name}${USE}`))
    .flatMap((entry) => liveProcess(join(folder, entry)) ?? []);
}

/** Removes marks whose processes are gone. */
export function removeStaleUses(folder: string): void {
  for (const entry of namesIn(folder)) {
    const path = join(folder, entry);
    if (entry.includes(USE) && liveProcess(path) === null) rmSync(path, { force: true });
  }
}

function liveProcess(path: string): number | null {
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    const identity = isRecord(parsed) ? readIdentity(parsed) : null;
    return identity !== null && isProbablyRunning(identity) ? identity.pid : null;
  } catch {
    return null;
  }
}

function attempt(work: () => void): void {
  try {
    work();
  } catch {
    // A remark only: nothing depends on it.
  }
}
