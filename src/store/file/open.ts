import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

import Database from 'better-sqlite3';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';

import { DiskFullError, StoreAccessError, StoreError } from '../../errors.ts';
import { fullDisk } from '../../process/disk-space.ts';
import { appliedMigration, copyBeforeMigration, isOfAnotherProgram, newestMigration } from './migrations.ts';
import { mayWriteStore, openToRead, privateCopy } from './open-to-read.ts';
import { keepChecksums } from '../verify/row-checksums.ts';
import * as schema from '../schema.ts';
import { isAccessProblem, sqliteRefusal } from '../verify/sqlite-problems.ts';
import { StoreFile } from './store-file.ts';

export type StoreDatabase = BetterSQLite3Database<typeof schema> & { readonly $client: Database.Database };

export interface OpenStore {
  readonly db: StoreDatabase;
  readonly path: string;
  /** True for one that may not be written: what a command would store is lost. */
  readonly isReadOnly: boolean;
  /** Where the store lies as it was, if it had to be brought up to date. */
  readonly copyBefore: string | null;
  readonly file: StoreFile;
  close(): void;
}

/** Another process may hold the write lock for the length of one run's transaction, or of a migration. */
const BUSY_TIMEOUT_MS = 30_000;
const MIGRATION_TRIES = 5;
/** What one large transaction leaves of the WAL is given back to the disk. */
const MAX_IDLE_WAL_BYTES = 64 << 20;

/**
 * Opens a store, creates it when it is not there, and brings its schema up to date.
 * @param migrationsFolder folder with drizzle's `*.sql` and `meta/_journal.json`
 * @param keepsCopy whether an older store is copied before it is brought up to date
 * @throws StoreError when the file is no SQLite file or that of another program, is newer than this program, or cannot
 *     be written
 */
export function openStore(
  path: string,
  migrationsFolder: string,
  { keepsCopy = true }: { readonly keepsCopy?: boolean } = {},
): OpenStore {
  refuseReadOnly(path);
  const client = openClient(path);
  try {
    refuseForeign(client, path, migrationsFolder);
    client.pragma('journal_mode = WAL');
    client.pragma(`journal_size_limit = ${MAX_IDLE_WAL_BYTES}`);
    const db = drizzle(client, { schema });
    const copyBefore = migrateStore(db, path, migrationsFolder, keepsCopy);
    keepChecksums(client);
    const file = new StoreFile(path);
    return { db, path, isReadOnly: false, copyBefore, file, close: () => client.close() };
  } catch (error) {
    client.close();
    throw asStoreError(path, error);
  }
}

export function openExistingStore(path: string, migrationsFolder: string): OpenStore {
  refuseMissing(path);
  return openStore(path, migrationsFolder);
}

/**
 * Opens a store that must exist for a command that reads. One that may not be written is not brought up to date: where it
 * is older, a copy of it is.
 */
export function openStoreToRead(
  path: string,
  migrationsFolder: string,
  mayWrite: (path: string) => boolean = mayWriteStore,
): OpenStore {
  refuseMissing(path);
  if (mayWrite(path)) return openStore(path, migrationsFolder);
  try {
    const client = currentClient(path, migrationsFolder, mayWrite);
    const db = drizzle(client, { schema });
    const file = new StoreFile(path);
    return { db, path, isReadOnly: true, copyBefore: null, file, close: () => client.close() };
  } catch (error) {
    throw asStoreError(path, error);
  }
}

function currentClient(path: string, migrationsFolder: string, mayWrite: (path: string) => boolean): Database.Database {
  const client = openToRead(path, BUSY_TIMEOUT_MS, mayWrite);
  try {
    refuseForeign(client, path, migrationsFolder);
    if (appliedMigration(client) === newestMigration(migrationsFolder)) return client;
    // Else it refuses to write the copy too.
    client.pragma('query_only = OFF');
    const current = privateCopy(
      (copy) => client.prepare('VACUUM INTO ?').run(copy),
      (copied) => migrate(drizzle(copied, { schema }), { migrationsFolder }),
    );
    client.close();
    return current;
  } catch (error) {
    client.close();
    throw error;
  }
}

function refuseMissing(path: string): void {
  if (existsSync(path)) return;
  throw new StoreError(`${path}: no such store; \`bench run\` or \`bench import\` makes one`);
}

/** @throws StoreAccessError before SQLite leaves files that whoever owns the store cannot write */
function refuseReadOnly(path: string): void {
  if (!existsSync(path) || statSync(path).isDirectory() || mayWriteStore(path)) return;
  throw new StoreAccessError(
    `${path}: may only be read: this command needs write access to the file and its folder; ask for it, or name another store with --db`,
  );
}

/** From here on nothing can be written through this connection, whatever is asked of it. */
export function makeReadOnly({ $client }: StoreDatabase): void {
  $client.pragma('query_only = ON');
}

/** Another number whenever another connection has written something. */
export function dataVersion({ $client }: StoreDatabase): number {
  return Number($client.pragma('data_version', { simple: true }));
}

function openClient(path: string): Database.Database {
  try {
    const client = new Database(path, { timeout: BUSY_TIMEOUT_MS });
    client.pragma('foreign_keys = ON');
    // A committed run must survive a power cut: WAL alone would only keep the file whole.
    client.pragma('synchronous = FULL');
    return client;
  } catch (error) {
    throw asStoreError(path, error);
  }
}

/**
 * Two processes may create the same store at once: the later one finds tables that it did not expect, and finds its
 * work done when it looks again.
 * @returns the copy of the store that was made before
 */
function migrateStore(db: StoreDatabase, path: string, migrationsFolder: string, keepsCopy: boolean): string | null {
  let copy: string | null = null;
  for (let attempt = 1; ; attempt += 1) {
    if (appliedMigration(db.$client) === newestMigration(migrationsFolder)) return copy;
    try {
      if (keepsCopy) copy ??= copyBeforeMigration(db.$client, path, migrationsFolder);
      migrate(db, { migrationsFolder });
      return copy;
    } catch (error) {
      if (attempt >= MIGRATION_TRIES) throw error;
    }
  }
}

/** @throws StoreError for a file that this program must not write */
export function refuseForeign(client: Database.Database, path: string, migrationsFolder: string): void {
  if (appliedMigration(client) > newestMigration(migrationsFolder)) {
    throw new StoreError(`${path}: was written by a newer bench; update this one to open it`);
  }
  if (isOfAnotherProgram(client)) {
    throw new StoreError(`${path}: is a database of another program, not a store of bench`);
  }
}

/** A SQLite error as one line about the file; other errors as they are. */
function asStoreError(path: string, error: unknown): unknown {
  const refusal = error instanceof StoreError ? null : sqliteRefusal(error);
  if (refusal === null) return error;
  const full = fullDisk(dirname(path));
  return full !== null
    ? new DiskFullError(`${path}: ${full}: make room first`, { cause: error })
    : isAccessProblem(error) && existsSync(dirname(path))
      ? new StoreAccessError(`${path}: ${refusal}`, { cause: error })
      : new StoreError(`${path}: ${refusal}`, { cause: error });
}
