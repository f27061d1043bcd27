import { accessSync, constants, existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

import { temporaryPath } from '../../artefacts/layout.ts';
import { BenchError, StoreError, UsageError } from '../../errors.ts';
import { appliedMigration, newestMigration } from '../file/migrations.ts';
import { mayWriteStore, readFrom } from '../file/open-to-read.ts';
import { openStore, refuseForeign } from '../file/open.ts';
import { sqliteRefusal } from '../verify/sqlite-problems.ts';

export interface OtherStore {
  /** The store itself, or a migrated copy. */
  readonly readable: string;
  close(): void;
}

/** @throws StoreError if it is not a store of this program, or is newer */
export function refuseOther(path: string, ownPath: string, migrationsFolder: string): void {
  inOneLine(path, () => {
    if (!existsSync(path)) throw new StoreError(`${path}: no such store`);
    if (isSameFile(path, ownPath)) {
      throw new UsageError(`${path}: is this very store; name another to merge into it`);
    }
    refuseUnreadable(path);
    isCurrent(path, migrationsFolder);
  });
}

function refuseUnreadable(path: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw new StoreError(`${path}: cannot be read: permission denied`, { cause: error });
  }
}

/**
 * Makes another store readable without writing to it. Copies are made next to the store that it is merged into, where
 * there should be room.
 */
export function openOther(path: string, ownPath: string, migrationsFolder: string): OtherStore {
  return inOneLine(path, () =>
    mayWriteStore(path) && isCurrent(path, migrationsFolder)
      ? { readable: path, close: () => {} }
      : copyOf(path, ownPath, migrationsFolder),
  );
}

function inOneLine<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const refusal = error instanceof BenchError ? null : sqliteRefusal(error);
    if (refusal === null) throw error;
    const line = `${path}: ${refusal.replace('; give another with --db', '')}`;
    throw new StoreError(line, { cause: error });
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

function copyOf(path: string, ownPath: string, migrationsFolder: string): OtherStore {
  const folder = temporaryPath(`${ownPath}.merging`);
  const close = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    close();
    mkdirSync(folder);
    const copy = join(folder, basename(path));
    copyStore(path, copy);
    openStore(copy, migrationsFolder, { keepsCopy: false }).close();
    return { readable: copy, close };
  } catch (error) {
    close();
    throw error;
  }
}

function copyStore(path: string, copy: string): void {
  readFrom(path, (client) => {
    // With query_only SQLite refuses to write the copy, too.
    client.pragma('query_only = OFF');
    client.prepare('VACUUM INTO ?').run(copy);
  });
}

function isSameFile(a: string, b: string): boolean {
  const [one, two] = [a, b].map((path) => statSync(path, { throwIfNoEntry: false }));
  return one !== undefined && one.dev === two?.dev && one.ino === two.ino;
}
