import { existsSync, statSync } from 'node:fs';

import type Database from 'better-sqlite3';

import { sizeOf } from '../../artefacts/folders.ts';
import type { StoreHealth } from '../../machine/machine-facts.ts';
import { isRecord } from '../../text/unknown-values.ts';
import { appliedMigration, newestMigration } from '../file/migrations.ts';
import { openToRead } from '../file/open-to-read.ts';
import { sqliteRefusal } from './sqlite-problems.ts';

const BUSY_TIMEOUT_MS = 2000;

/** Looks at a store without changing it: neither is it made, nor brought up to date. */
export function storeHealth(path: string, migrationsFolder: string): StoreHealth {
  if (!existsSync(path)) return { kind: 'none', path };
  if (statSync(path).isDirectory()) return { kind: 'refused', path, problem: 'is a folder' };
  try {
    const client = openToRead(path, BUSY_TIMEOUT_MS);
    try {
      const quickCheck = String(client.pragma('quick_check(1)', { simple: true }));
      const applied = appliedMigration(client);
      const newest = newestMigration(migrationsFolder);
      const schema = applied === newest ? 'current' : applied > newest ? 'newer' : 'older';
      const sweeps = applied === 0 ? null : countSweeps(client);
      const walBytes = sizeOf(`${path}-wal`);
      return { kind: 'opened', path, bytes: sizeOf(path), walBytes, sweeps, quickCheck, schema };
    } finally {
      client.close();
    }
  } catch (error) {
    const problem = sqliteRefusal(error);
    if (problem === null) throw error;
    return { kind: 'refused', path, problem };
  }
}

function countSweeps(client: Database.Database): number | null {
  const row: unknown = client.prepare('SELECT count(*) AS sweeps FROM sweeps').get();
  return isRecord(row) ? Number(row['sweeps']) : null;
}
