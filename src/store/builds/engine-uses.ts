import { and, eq, isNotNull, ne } from 'drizzle-orm';

import type { StoreDatabase } from '../file/open.ts';
import { runs, sweeps } from '../schema.ts';

/** Sweeps that are not finished, by the keys of the engines that they have run: they will want them again. */
export function unfinishedSweepsByEngine(db: StoreDatabase): Map<string, string> {
  const rows = db
    .selectDistinct({ engineKey: runs.engineKey, sweepId: runs.sweepId })
    .from(runs)
    .innerJoin(sweeps, eq(sweeps.sweepId, runs.sweepId))
    .where(and(ne(sweeps.state, 'finished'), isNotNull(runs.engineKey)))
    .all();
  return new Map(rows.map(({ engineKey, sweepId }) => [engineKey ?? '', sweepId]));
}
