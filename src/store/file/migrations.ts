import { existsSync, linkSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import type Database from 'better-sqlite3';

import { sha256OfFileSync } from '../../files/files.ts';
import { errorCode } from '../../errors.ts';
import { readFrom } from './open-to-read.ts';
import { isRecord } from '../../text/unknown-values.ts';

/** Time of the newest applied migration; 0 for a foreign database. */
export function appliedMigration(client: Database.Database): number {
  if (!hasTable(client, '__drizzle_migrations')) return 0;
  const row: unknown = client.prepare('SELECT max(created_at) AS newest FROM __drizzle_migrations').get();
  return isRecord(row) ? Number(row['newest']) : 0;
}

export function newestMigration(migrationsFolder: string): number {
  return Math.max(0, ...journal(migrationsFolder).map(({ time }) => time));
}

export function isOfAnotherProgram(client: Database.Database): boolean {
  const tables: unknown = client.prepare(`SELECT count(*) FROM sqlite_master WHERE type = 'table'`).pluck().get();
  return Number(tables) > 0 && !hasTable(client, '__drizzle_migrations');
}

/**
 * Copies a store next to itself before its first pending migration. Two concurrent processes leave one copy, and an
 * existing copy stays.
 * @returns the copy; null if there is nothing to lose
 */
export function copyBeforeMigration(client: Database.Database, path: string, migrationsFolder: string): string | null {
  const applied = appliedMigration(client);
  const first = journal(migrationsFolder).find(({ time }) => time > applied);
  const hasSweeps = applied > 0 && client.prepare('SELECT 1 FROM sweeps LIMIT 1').get() !== undefined;
  if (applied === 0 || first === undefined || !hasSweeps) return null;
  const temporary = `${path}.before-${first.tag}.tmp-${process.pid}`;
  rmSync(temporary, { force: true });
  try {
    client.prepare('VACUUM INTO ?').run(temporary);
    // Another process may have migrated the store in the meantime.
    return readFrom(temporary, appliedMigration) === applied ? settle(temporary, path, first.tag) : null;
  } finally {
    rmSync(temporary, { force: true });
  }
}

function settle(temporary: string, path: string, tag: string): string {
  for (let number = 1; ; number += 1) {
    const target = `${path}.before-${tag}${number === 1 ? '' : `.${number}`}`;
    if (!existsSync(target) && tryLink(temporary, target)) return target;
    if (sha256OfFileSync(target).sha256 === sha256OfFileSync(temporary).sha256) return target;
  }
}

function hasTable(client: Database.Database, name: string): boolean {
  const known = client.prepare(`SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?`);
  return known.get(name) !== undefined;
}

function journal(migrationsFolder: string) {
  const parsed: unknown = JSON.parse(readFileSync(join(migrationsFolder, 'meta', '_journal.json'), 'utf8'));
  const entries: unknown = isRecord(parsed) ? parsed['entries'] : null;
  return Array.isArray(entries)
    ? entries
        .filter(isRecord)
        .map((entry) => ({ tag: String(entry['tag']), time: Number(entry['when']) }))
        .toSorted((a, b) => a.time - b.time)
    : [];
}

export function schemaTag(migrationsFolder: string): string {
  return journal(migrationsFolder).at(-1)?.tag ?? '';
}

/**
 * Links a complete file under its final name, so that readers never see an incomplete one. False if the name is taken.
 */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}
