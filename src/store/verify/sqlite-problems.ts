import { existsSync, statSync } from 'node:fs';

import type Database from 'better-sqlite3';

import { sizeOf } from '../../artefacts/folders.ts';
import { errorCode } from '../../errors.ts';
import type { StoreHealth } from '../../machine/machine-facts.ts';
import { appliedMigration, newestMigration } from '../file/migrations.ts';
import { readFrom } from '../file/open-to-read.ts';

const PROBLEMS: Readonly<Record<string, string>> = {
  SQLITE_NOTADB: 'is not a SQLite file; give another with --db',
  SQLITE_CANTOPEN: 'cannot be opened; does its folder exist, and may you write there?',
  SQLITE_READONLY: 'cannot be written; a store needs write access to the file and its folder',
  SQLITE_CORRUPT: 'is damaged; keep the file and restore it with `bench import` of its artefacts',
  SQLITE_FULL: 'cannot grow: the disk is full',
  SQLITE_IOERR: 'cannot be read or written: the disk is full or damaged',
  SQLITE_BUSY: 'is locked by another process',
};

/** The refusal of SQLite as a predicate about the store; null for other errors. */
export function sqliteRefusal(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const code = sqliteCode(error) ?? sqliteCode(error.cause);
  if (code === null) {
    const noFolder = error.message.includes('directory does not exist');
    return noFolder ? (PROBLEMS['SQLITE_CANTOPEN'] ?? null) : null;
  }
  const base = code.split('_').slice(0, 2).join('_');
  return PROBLEMS[base] ?? `SQLite says ${code}: ${(error.cause instanceof Error ? error.cause : error).message}`;
}

/** True if the disk or its permissions are the reason, rather than the content of the file. */
export function isAccessProblem(error: unknown): boolean {
  const code = sqliteCode(error) ?? '';
  return /^SQLITE_(?:CANTOPEN|READONLY|PERM|IOERR|FULL)/.test(code);
}

/** Like `sqliteRefusal`, in one line, for an error while the store was open. */
export function sqliteProblem(error: unknown): string | null {
  const refusal = sqliteRefusal(error);
  return refusal === null ? null : `the store ${refusal}`;
}

function sqliteCode(error: unknown): string | null {
  const code = errorCode(error);
  return code.startsWith('SQLITE_') ? code : null;
}

const BUSY_TIMEOUT_MS = 2000;

export function storeHealth(path: string, migrationsFolder: string): StoreHealth {
  if (!existsSync(path)) return { kind: 'none', path };
  if (statSync(path).isDirectory()) return { kind: 'refused', path, problem: 'is a folder' };
  try {
    return readFrom(path, (client) => healthOf(client, path, migrationsFolder), BUSY_TIMEOUT_MS);
  } catch (error) {
    const problem = sqliteRefusal(error);
    if (problem === null) throw error;
    return { kind: 'refused', path, problem };
  }
}

function healthOf(client: Database.Database, path: string, migrationsFolder: string): StoreHealth {
  const applied = appliedMigration(client);
  const newest = newestMigration(migrationsFolder);
  return {
    kind: 'opened',
    path,
    bytes: sizeOf(path),
    walBytes: sizeOf(`${path}-wal`),
    sweeps: applied === 0 ? null : Number(client.prepare('SELECT count(*) FROM sweeps').pluck().get()),
    quickCheck: String(client.pragma('quick_check(1)', { simple: true })),
    schema: applied === newest ? 'current' : applied > newest ? 'newer' : 'older',
  };
}
