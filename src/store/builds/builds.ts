import { and, desc, eq, isNotNull, sql } from 'drizzle-orm';

import { storedFlagsPattern } from '../../trtexec/flags/file-flags.ts';
import type { StoreDatabase } from '../file/open.ts';
import { builds } from '../schema.ts';

/** Size of the engine that was last built of a model with these flags; null when there was none. */
export function lastEngineBytes(db: StoreDatabase, model: string, flags: readonly string[]): number | null {
  const row = db
    .select({ engineBytes: builds.engineBytes })
    .from(builds)
    .where(
      and(
        eq(builds.model, model),
        sql`${builds.flags} like ${storedFlagsPattern(flags)} escape '\\'`,
        isNotNull(builds.engineBytes),
      ),
    )
    .orderBy(desc(sql`rowid`))
    .limit(1)
    .get();
  return row?.engineBytes ?? null;
}
