import { existsSync, statSync } from 'node:fs';

import type Database from 'better-sqlite3';

import { sizeOf } from '../../artefacts/folders.ts';
import type { StoreHealth } from '../../machine/machine-facts.ts';
import { appliedMigration, newestMigration } from '../file/migrations.ts';
import { readFrom } from '../file/open-to-read.ts';
import { sqliteRefusal } from './sqlite-problems.ts';

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
