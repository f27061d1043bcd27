import { eq, type SQL } from 'drizzle-orm';

import type { RunFlag } from '../domain/run-flag.ts';
import type { StoreDatabase } from './open.ts';
import { runFlags, runs } from './schema.ts';

/** Flags by the id of their run, in the order in which they were found; runs without any are absent. */
export function flagsOf(db: StoreDatabase, whichRuns: SQL): Map<string, RunFlag[]> {
  const rows = db
    .select({
      runId: runFlags.runId,
      id: runFlags.flag,
      effect: runFlags.effect,
      value: runFlags.value,
      evidence: runFlags.evidence,
    })
    .from(runs)
    .innerJoin(runFlags, eq(runFlags.runId, runs.runId))
    .where(whichRuns)
    .orderBy(runFlags.runId)
    .all();
  const byRun = new Map<string, RunFlag[]>();
  for (const { runId, ...flag } of rows) {
    const known = byRun.get(runId);
    if (known === undefined) byRun.set(runId, [flag]);
    else known.push(flag);
  }
  return byRun;
}
