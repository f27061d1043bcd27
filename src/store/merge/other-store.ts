import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import Database from 'better-sqlite3';

import { StoreError, UsageError } from '../../domain/errors.ts';
import { appliedMigration, newestMigration } from '../migrations.ts';
import { openStore, refuseForeign } from '../open.ts';
import { sqliteRefusal } from '../sqlite-problems.ts';

/** Another store, ready to be read: itself, or a copy that was brought up to date. */
export interface OtherStore {
  /** What is read. */
  readonly path: string;
  readonly isCopy: boolean;
  close(): void;
}

/**
 * Makes another store readable without writing to it.
 * @param ownPath the store that it is merged into; copies are made in its folder, where there should be room
 * @throws StoreError when it is no store of this program, or a newer one
 */
export function openOther(path: string, ownPath: string, migrationsFolder: string): OtherStore {
  if (!existsSync(path)) throw new StoreError(`${path}: no such store`);
  if (isSameFile(path, ownPath)) {
    throw new UsageError(`${path}: is this very store; name another to merge into it`);
  }
  try {
    return isCurrent(path, migrationsFolder)
      ? { path, isCopy: false, close: () => {} }
      : copyOf(path, ownPath, migrationsFolder);
  } catch (error) {
    const refusal = error instanceof StoreError ? null : sqliteRefusal(error);
    if (refusal === null) throw error;
    throw new StoreError(`${path}: ${refusal.replace('; give another with --db', '')}`, {
      cause: error,
    });
  }
}

/** False for an older one, and for one that cannot be read where it lies: in a folder that may not be written. */
function isCurrent(path: string, migrationsFolder: string): boolean {
  let client: Database.Database;
  try {
    client = new Database(path, { readonly: true });
    client.pragma('schema_version');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'SQLITE_CANTOPEN') return false;
    throw error;
  }
  try {
    refuseForeign(client, path, migrationsFolder);
    const applied = appliedMigration(client);
    if (applied === 0) throw new StoreError(`${path}: is empty, not a store of bench`);
    return applied === newestMigration(migrationsFolder);
  } finally {
    client.close();
  }
}

function copyOf(path: string, ownPath: string, migrationsFolder: string): OtherStore {
  const folder = mkdtempSync(join(dirname(ownPath), '.merging-'));
  const close = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const copy = join(folder, basename(path));
    copyStore(path, copy);
    openStore(copy, migrationsFolder, { keepsCopy: false }).close();
    return { path: copy, isCopy: true, close };
  } catch (error) {
    close();
    throw error;
  }
}

function copyStore(path: string, copy: string): void {
  try {
    const client = new Database(path, { readonly: true });
    try {
      client.prepare('VACUUM INTO ?').run(copy);
    } finally {
      client.close();
    }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'SQLITE_CANTOPEN'))
      throw error;
    copyFileSync(path, copy);
    if (existsSync(`${path}-wal`)) copyFileSync(`${path}-wal`, `${copy}-wal`);
  }
}

function isSameFile(a: string, b: string): boolean {
  const [one, two] = [statSync(a), statSync(b)];
  return one.dev === two.dev && one.ino === two.ino;
}
