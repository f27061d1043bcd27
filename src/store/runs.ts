import { and, eq, isNull, max } from 'drizzle-orm';

import type { RunRole } from '../domain/run-record.ts';
import type { StoreDatabase } from './open.ts';
import { runs } from './schema.ts';

/** The last repeat of a cell in a sweep; 0 when there is none. */
export function highestRepeat(
  db: StoreDatabase,
  sweepId: string,
  role: RunRole,
  cellKey: string | null,
): number {
  const row = db
    .select({ repeat: max(runs.repeat) })
    .from(runs)
    .where(
      and(
        eq(runs.sweepId, sweepId),
        eq(runs.role, role),
        cellKey === null ? isNull(runs.cellKey) : eq(runs.cellKey, cellKey),
      ),
    )
    .get();
  return row?.repeat ?? 0;
}
