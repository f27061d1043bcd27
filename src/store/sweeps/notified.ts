import { and, isNull } from 'drizzle-orm';

import type { StoreDatabase } from '../file/open.ts';
import { findings } from '../findings-schema.ts';
import { isAmong } from './findings.ts';

/** Those of some findings that no program was started for, or only one that failed. */
export function notNotified(db: StoreDatabase, findingIds: readonly string[]): Set<string> {
  const { findingId, notifiedAt } = findings;
  const which = and(isAmong(findingId, findingIds), isNull(notifiedAt));
  const rows = db.select({ findingId }).from(findings).where(which).all();
  return new Set(rows.map((row) => row.findingId));
}

/** @param at as in JSON: an instant in UTC */
export function markNotified(db: StoreDatabase, findingIds: readonly string[], at: string): void {
  db.update(findings).set({ notifiedAt: at }).where(isAmong(findings.findingId, findingIds)).run();
}
