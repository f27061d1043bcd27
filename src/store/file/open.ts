import { closeSync, existsSync, fsyncSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

import Database from 'better-sqlite3';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';

import { DiskFullError, StoreAccessError, StoreError, errorCode, orNull } from '../../errors.ts';
import { fullDisk } from '../../process/disk-space.ts';
import { appliedMigration, copyBeforeMigration, isOfAnotherProgram, newestMigration } from './migrations.ts';
import { closedOnError, copyInto, mayWriteStore, openToRead, privateCopy, readFrom } from './open-to-read.ts';
import { StoreFile, sqliteRefusal } from './store-file.ts';
import * as schema from '../schema.ts';

export type StoreDatabase = BetterSQLite3Database<typeof schema> & { readonly $client: Database.Database };

export interface OpenStore {
  readonly db: StoreDatabase;
  readonly path: string;
  /** True for a read-only store, in which commands save no results. */
  readonly isReadOnly: boolean;
  /** Copy of the store from before a migration; null if there was none. */
  readonly copyBefore: string | null;
  readonly file: StoreFile;
  close(): void;
}

/** Another process may hold the write lock for the transaction of one run, or for a migration. */
const BUSY_TIMEOUT_MS = 30_000;
const BETWEEN_TRIES_MS = 20;
const MIGRATION_TRIES = 5;
/** Larger WAL files are truncated after a transaction. */
const MAX_IDLE_WAL_BYTES = 64 << 20;

/**
 * Opens a store, creating or migrating it if needed.
 * @param migrationsFolder folder with drizzle's `*.sql` and `meta/_journal.json`
 * @throws StoreError if the file is not SQLite, belongs to another program, is newer than this program, or cannot be
 * written
 */
export function openStore(path: string, migrationsFolder: string): OpenStore {
  refuseReadOnly(path);
  return withStoreErrors(path, () => {
    const client = new Database(path, { timeout: BUSY_TIMEOUT_MS });
    return closedOnError(client, () => {
      client.pragma('foreign_keys = ON');
      // A committed run must survive a power failure; WAL alone only protects the integrity of the file.
      client.pragma('synchronous = FULL');
      refuseForeign(client, path, migrationsFolder);
      useWal(client);
      client.pragma(`journal_size_limit = ${MAX_IDLE_WAL_BYTES}`);
      const db = drizzle(client, { schema });
      const copyBefore = migrateStore(db, path, migrationsFolder);
      const file = new StoreFile(path);
      return { db, path, isReadOnly: false, copyBefore, file, close: () => client.close() };
    });
  });
}

export function openExistingStore(path: string, migrationsFolder: string): OpenStore {
  refuseMissing(path);
  return openStore(path, migrationsFolder);
}

/** Opens a store for reading. A read-only store, or one on a full disk, is not migrated; if it is older, a copy is. */
export function openStoreToRead(path: string, migrationsFolder: string, mayWrite = mayWriteStore): OpenStore {
  refuseMissing(path);
  if (mayWrite(path) && fullDisk(dirname(path)) === null) return openStore(path, migrationsFolder);
  const stored = openUnchanged(path, migrationsFolder, mayWrite);
  const client =
    appliedMigration(stored) === newestMigration(migrationsFolder) ? stored : updated(stored, path, migrationsFolder);
  const db = drizzle(client, { schema });
  return { db, path, isReadOnly: true, copyBefore: null, file: new StoreFile(path), close: () => client.close() };
}

/** Opens a store of this or an older version for reading, without migrating it. @throws StoreError if it is none */
export function openUnchanged(path: string, migrationsFolder: string, mayWrite = mayWriteStore): Database.Database {
  refuseMissing(path);
  return withStoreErrors(path, () => {
    const client = openToRead(path, mayWrite);
    return closedOnError(client, () => {
      refuseForeign(client, path, migrationsFolder);
      if (appliedMigration(client) > 0) return client;
      throw new StoreError(`${path} is empty; \`bench run\` or \`bench import\` fills it`);
    });
  });
}

/** A migrated private copy. Closes the store. */
function updated(client: Database.Database, path: string, migrationsFolder: string): Database.Database {
  try {
    const update = (copied: Database.Database): void => migrate(drizzle(copied, { schema }), { migrationsFolder });
    return withStoreErrors(path, () => privateCopy((copy) => copyInto(client, copy), update));
  } finally {
    client.close();
  }
}

/** Reads a store without creating or migrating it. Null if it is missing, or of another version. */
export function peekIntoStore<Result>(path: string, read: (db: StoreDatabase) => Result): Result | null {
  return orNull(() => readFrom(path, (client) => read(drizzle(client, { schema }))));
}

function refuseMissing(path: string): void {
  if (existsSync(path)) return;
  throw new StoreError(`${path}: store not found; \`bench run\` or \`bench import\` makes one`);
}

/** @throws StoreAccessError before SQLite leaves files that the owner of the store cannot write */
function refuseReadOnly(path: string): void {
  if (!existsSync(path) || statSync(path).isDirectory() || mayWriteStore(path)) return;
  throw new StoreAccessError(
    `${path} is read-only: this command needs write access to the file and its folder; ask for it, or name another store with --db`,
  );
}

/** Runs `work` in one transaction that holds the write lock from its start. */
export function immediately<Result>(db: StoreDatabase, work: () => Result): Result {
  return db.transaction(work, { behavior: 'immediate' });
}

export function makeReadOnly({ $client }: StoreDatabase): void {
  $client.pragma('query_only = ON');
}

/** Tries again while another process creates the same store, because SQLite ignores its busy timeout here. */
function useWal(client: Database.Database): void {
  for (let waitedMs = 0; ; waitedMs += BETWEEN_TRIES_MS) {
    try {
      client.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      if (!errorCode(error).startsWith('SQLITE_BUSY') || waitedMs >= BUSY_TIMEOUT_MS) throw error;
      // Blocks the thread, because SQLite is used synchronously.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BETWEEN_TRIES_MS);
    }
  }
}

/**
 * Migrates a store. If two processes create it at once, the second finds unexpected tables, and a retry finds the work
 * done.
 * @returns the copy of the store from before; null if there is none
 */
function migrateStore(db: StoreDatabase, path: string, migrationsFolder: string): string | null {
  let copy: string | null = null;
  for (let attempt = 1; ; attempt += 1) {
    if (appliedMigration(db.$client) === newestMigration(migrationsFolder)) return copy;
    try {
      copy ??= copyBeforeMigration(db.$client, path, migrationsFolder);
      migrate(db, { migrationsFolder });
      return copy;
    } catch (error) {
      if (attempt >= MIGRATION_TRIES) throw error;
    }
  }
}

/** @throws StoreError for a file that this program must not write */
function refuseForeign(client: Database.Database, path: string, migrationsFolder: string): void {
  if (appliedMigration(client) > newestMigration(migrationsFolder)) {
    throw new StoreError(`${path} was written by a newer version of bench; update this one to open it`);
  }
  if (isOfAnotherProgram(client)) {
    throw new StoreError(`${path} is a database of another program, not a store of bench`);
  }
}

/** Does some work on a store; an error of SQLite becomes one line about the file. */
export function withStoreErrors<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const refusal = error instanceof StoreError ? null : sqliteRefusal(error);
    if (refusal === null) throw error;
    const full = fullDisk(dirname(path));
    if (full !== null) throw new DiskFullError(`${path}: ${full}: make room first`, { cause: error });
    // The disk or its permissions are the reason, rather than the content of the file.
    const isAccess = /^SQLITE_(?:CANTOPEN|READONLY|PERM|IOERR|FULL)/.test(errorCode(error));
    const Refusal = isAccess && existsSync(dirname(path)) ? StoreAccessError : StoreError;
    throw new Refusal(`${path} ${refusal}`, { cause: error });
  }
}

/**
 * Writes a consistent copy of a store to a new file without a WAL, syncs it to the disk and checks it.
 * @returns `quickCheck`: `ok`, or SQLite's first error
 */
export function backupStore({ $client }: StoreDatabase, target: string) {
  copyInto($client, target);
  const file = openSync(target, 'r+');
  fsyncSync(file);
  closeSync(file);
  return readFrom(target, (copy) => ({
    quickCheck: String(copy.pragma('quick_check(1)', { simple: true })),
    runs: Number(copy.prepare('SELECT count(*) FROM runs').pluck().get()),
  }));
}
