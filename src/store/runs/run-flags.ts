import { and, countDistinct, eq, type SQL } from 'drizzle-orm';

import type { RunFlag, RunFlagId } from '../../records/run-flag.ts';
import type { StoreDatabase } from '../file/open.ts';
import { runFlags, runs } from '../schema.ts';

/** Flags by the id of their run, in the order in which they were found; runs without any are absent. */
export function flagsOf(db: StoreDatabase, whichRuns: SQL | undefined): Map<string, RunFlag[]> {
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

/** How many runs of a sweep have a flag. */
export function flaggedRuns(db: StoreDatabase, sweepId: string, flag: RunFlagId): number {
  const row = db
    .select({ runs: countDistinct(runs.runId) })
    .from(runs)
    .innerJoin(runFlags, eq(runFlags.runId, runs.runId))
    .where(and(eq(runs.sweepId, sweepId), eq(runFlags.flag, flag)))
    .get();
  return row?.runs ?? 0;
}
