import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import type Database from 'better-sqlite3';
import * as z from 'zod';

import { sha256OfFileSync } from '../../files/files.ts';
import { readFrom } from './open-to-read.ts';

/** Time of the newest applied migration; 0 for a foreign database. */
export function appliedMigration(client: Database.Database): number {
  if (!hasMigrations(client)) return 0;
  return Number(client.prepare('SELECT max(created_at) FROM __drizzle_migrations').pluck().get());
}

export function newestMigration(migrationsFolder: string): number {
  return journal(migrationsFolder).at(-1)?.when ?? 0;
}

export function isOfAnotherProgram(client: Database.Database): boolean {
  const tables: unknown = client.prepare(`SELECT count(*) FROM sqlite_master WHERE type = 'table'`).pluck().get();
  return Number(tables) > 0 && !hasMigrations(client);
}

/**
 * Copies a store next to itself before its first pending migration. The name has the hash of the content, so that two
 * concurrent processes leave one copy, and a copy of another time stays.
 * @returns the copy; null if there is nothing to lose
 */
export function copyBeforeMigration(client: Database.Database, path: string, migrationsFolder: string): string | null {
  const applied = appliedMigration(client);
  const first = journal(migrationsFolder).find(({ when }) => when > applied);
  const hasSweeps = applied > 0 && client.prepare('SELECT 1 FROM sweeps LIMIT 1').get() !== undefined;
  if (applied === 0 || first === undefined || !hasSweeps) return null;
  const temporary = `${path}.before-${first.tag}.tmp-${process.pid}`;
  rmSync(temporary, { force: true });
  try {
    client.prepare('VACUUM INTO ?').run(temporary);
    // Another process may have migrated the store in the meantime.
    if (readFrom(temporary, appliedMigration) !== applied) return null;
    const copy = `${path}.before-${first.tag}-${sha256OfFileSync(temporary).sha256.slice(0, 8)}`;
    renameSync(temporary, copy);
    return copy;
  } finally {
    rmSync(temporary, { force: true });
  }
}

function hasMigrations(client: Database.Database): boolean {
  return client.prepare(`SELECT 1 FROM sqlite_master WHERE name = '__drizzle_migrations'`).get() !== undefined;
}

const journalSchema = z.object({ entries: z.array(z.object({ tag: z.string(), when: z.number() })) });

/** The migrations of this version, oldest first. */
function journal(migrationsFolder: string) {
  const text = readFileSync(join(migrationsFolder, 'meta', '_journal.json'), 'utf8');
  return journalSchema.parse(JSON.parse(text)).entries.toSorted((a, b) => a.when - b.when);
}

export function schemaTag(migrationsFolder: string): string {
  return journal(migrationsFolder).at(-1)?.tag ?? '';
}
