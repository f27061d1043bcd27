import { accessSync, constants, existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

import { temporaryPath } from '../../artefacts/layout.ts';
import { BenchError, StoreError, UsageError } from '../../errors.ts';
import { appliedMigration, newestMigration } from '../file/migrations.ts';
import { mayWriteStore, readFrom } from '../file/open-to-read.ts';
import { openStore, refuseForeign } from '../file/open.ts';
import { sqliteRefusal } from '../verify/sqlite-problems.ts';

/** @throws StoreError if it is not a store of this program, or is newer */
export function refuseOther(path: string, ownPath: string, migrationsFolder: string): void {
  inOneLine(path, () => {
    if (!existsSync(path)) throw new StoreError(`${path}: no such store`);
    const [other, own] = [path, ownPath].map((one) => statSync(one, { throwIfNoEntry: false }));
    if (other?.dev === own?.dev && other?.ino === own?.ino) {
      throw new UsageError(`${path}: is this very store; name another to merge into it`);
    }
    try {
      accessSync(path, constants.R_OK);
    } catch (error) {
      throw new StoreError(`${path}: cannot be read: permission denied`, { cause: error });
    }
    isCurrent(path, migrationsFolder);
  });
}

/**
 * Makes another store readable without writing to it: itself, or a migrated copy next to the store that it is merged into,
 * where there should be room.
 */
export function openOther(path: string, ownPath: string, migrationsFolder: string) {
  return inOneLine(path, () => {
    if (mayWriteStore(path) && isCurrent(path, migrationsFolder)) return { readable: path, close: () => {} };
    const folder = temporaryPath(`${ownPath}.merging`);
    const close = (): void => rmSync(folder, { recursive: true, force: true });
    try {
      close();
      mkdirSync(folder);
      const copy = join(folder, basename(path));
      readFrom(path, (client) => {
        // With query_only SQLite refuses to write the copy, too.
        client.pragma('query_only = OFF');
        client.prepare('VACUUM INTO ?').run(copy);
      });
      openStore(copy, migrationsFolder, { keepsCopy: false }).close();
      return { readable: copy, close };
    } catch (error) {
      close();
      throw error;
    }
  });
}

function inOneLine<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const refusal = error instanceof BenchError ? null : sqliteRefusal(error);
    if (refusal === null) throw error;
    throw new StoreError(`${path}: ${refusal.replace('; give another with --db', '')}`, { cause: error });
  }
}

/** False for an older one. */
function isCurrent(path: string, migrationsFolder: string): boolean {
  return readFrom(path, (client) => {
    refuseForeign(client, path, migrationsFolder);
    const applied = appliedMigration(client);
    if (applied === 0) throw new StoreError(`${path}: is empty, not a store of bench`);
    return applied === newestMigration(migrationsFolder);
  });
}
