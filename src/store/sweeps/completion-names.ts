import { existsSync } from 'node:fs';

import Database from 'better-sqlite3';
import { desc, isNotNull, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';

import type { StoreDatabase } from '../file/open.ts';
import * as schema from '../schema.ts';
import { sweepTimeSql } from './sweep-order.ts';

const BUSY_TIMEOUT_MS = 200;

/** Does not create, migrate or wait for the store; null if it is missing, busy, or of another version. */
export function peekIntoStore<Result>(path: string, read: (db: StoreDatabase) => Result): Result | null {
  if (!existsSync(path)) return null;
  try {
    const client = new Database(path, { readonly: true, timeout: BUSY_TIMEOUT_MS });
    try {
      return read(drizzle(client, { schema }));
    } finally {
      client.close();
    }
  } catch {
    return null;
  }
}

export function storedBranches(db: StoreDatabase): string[] {
  const { branch } = schema.sweeps;
  const rows = db
    .select({ branch })
    .from(schema.sweeps)
    .where(isNotNull(branch))
    .groupBy(branch)
    .orderBy(desc(sql`max(${sql.raw(sweepTimeSql('sweeps'))})`))
    .all();
  return rows.flatMap((row) => row.branch ?? []);
}
