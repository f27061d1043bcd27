import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';

import { StoreError } from '../domain/errors.ts';
import { isRecord } from '../domain/unknown-values.ts';
import * as schema from './schema.ts';
import { sqliteRefusal } from './sqlite-problems.ts';

export type StoreDatabase = BetterSQLite3Database<typeof schema> & {
  readonly $client: Database.Database;
};

export interface OpenStore {
  readonly db: StoreDatabase;
  readonly path: string;
  close(): void;
}

/** Another process may hold the write lock for the length of one run's transaction, or of a migration. */
const BUSY_TIMEOUT_MS = 30_000;
const MIGRATION_TRIES = 5;

/**
 * Opens a store, creates it when it is not there, and brings its schema up to date.
 * @param migrationsFolder folder with drizzle's `*.sql` and `meta/_journal.json`
 * @throws StoreError when the file is no SQLite file, is newer than this program, or cannot be written
 */
export function openStore(path: string, migrationsFolder: string): OpenStore {
  const client = openClient(path, false);
  try {
    client.pragma('journal_mode = WAL');
    const db = drizzle(client, { schema });
    refuseNewer(client, path, migrationsFolder);
    migrateStore(db, migrationsFolder);
    return { db, path, close: () => client.close() };
  } catch (error) {
    client.close();
    throw asStoreError(path, error);
  }
}

/** Opens a store that must exist. */
export function openExistingStore(path: string, migrationsFolder: string): OpenStore {
  if (!existsSync(path)) {
    throw new StoreError(`${path}: no such store; \`bench run\` or \`bench import\` makes one`);
  }
  return openStore(path, migrationsFolder);
}

/** From here on nothing can be written through this connection, whatever is asked of it. */
export function makeReadOnly({ $client }: StoreDatabase): void {
  $client.pragma('query_only = ON');
}

/** Another number whenever another connection has written something. */
export function dataVersion({ $client }: StoreDatabase): number {
  return Number($client.pragma('data_version', { simple: true }));
}

function openClient(path: string, readonly: boolean): Database.Database {
  try {
    const client = new Database(path, { readonly, timeout: BUSY_TIMEOUT_MS });
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
 */
function migrateStore(db: StoreDatabase, migrationsFolder: string): void {
  for (let attempt = 1; ; attempt += 1) {
    try {
      migrate(db, { migrationsFolder });
      return;
    } catch (error) {
      if (attempt >= MIGRATION_TRIES) throw error;
    }
  }
}

function refuseNewer(client: Database.Database, path: string, migrationsFolder: string): void {
  if (appliedMigration(client) > newestMigration(migrationsFolder)) {
    throw new StoreError(`${path}: was written by a newer bench; update this one to open it`);
  }
}

/** Time of the newest migration that a store has seen; 0 for a database of something else. */
export function appliedMigration(client: Database.Database): number {
  const known = client
    .prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '__drizzle_migrations'`)
    .get();
  if (known === undefined) return 0;
  const row: unknown = client
    .prepare('SELECT max(created_at) AS newest FROM __drizzle_migrations')
    .get();
  return isRecord(row) ? Number(row['newest']) : 0;
}

export function newestMigration(migrationsFolder: string): number {
  const journal: unknown = JSON.parse(
    readFileSync(join(migrationsFolder, 'meta', '_journal.json'), 'utf8'),
  );
  const entries: unknown = isRecord(journal) ? journal['entries'] : null;
  const times = Array.isArray(entries)
    ? entries.filter(isRecord).map((entry) => Number(entry['when']))
    : [];
  return Math.max(0, ...times);
}

/** A SQLite error as one line about the file; other errors as they are. */
function asStoreError(path: string, error: unknown): unknown {
  const refusal = error instanceof StoreError ? null : sqliteRefusal(error);
  return refusal === null ? error : new StoreError(`${path}: ${refusal}`, { cause: error });
}
