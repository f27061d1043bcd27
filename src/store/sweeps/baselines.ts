import { asc, eq } from 'drizzle-orm';

import type { StoreDatabase } from '../file/open.ts';
import { baselines } from '../schema.ts';

export interface Baseline {
  readonly name: string;
  readonly sweepId: string;
  readonly reason: string | null;
  readonly createdAt: string;
}

/** Points a name at a sweep; the name may have pointed at another before. */
export function setBaseline(db: StoreDatabase, baseline: Baseline): void {
  db.insert(baselines).values(baseline).onConflictDoUpdate({ target: baselines.name, set: baseline }).run();
}

export function listBaselines(db: StoreDatabase): Baseline[] {
  return db.select().from(baselines).orderBy(asc(baselines.name)).all();
}

/** False when there was none of this name. */
export function removeBaseline(db: StoreDatabase, name: string): boolean {
  return db.delete(baselines).where(eq(baselines.name, name)).run().changes > 0;
}
