import { eq } from 'drizzle-orm';

import type { Cell } from '../../records/cell.ts';
import type { HarnessValue, Method } from '../../records/harness.ts';
import type { CustomMetricId } from '../../records/metric.ts';
import { trtexecMethod } from '../../judge/method.ts';
import type { StoreDatabase } from '../file/open.ts';
import { environments, invocations, measurements, runMethods, runs, runValues } from '../schema.ts';

/** How a run was measured; trtexec's method follows from its options. Null for one that is not there, or failed in another harness. */
export function methodOf(db: StoreDatabase, runId: string, cell: Cell | null): Method | null {
  const stored = db.select().from(runMethods).where(eq(runMethods.runId, runId)).get();
  if (stored !== undefined) {
    const { runId: _, ...method } = stored;
    return method;
  }
  // A failed run of another harness says nothing of how it would have measured.
  if (cell?.harness !== undefined) return null;
  const row = db
    .select({
      argv: invocations.argv,
      harnessVersion: environments.tensorrt,
      warmUpRuns: measurements.warmUpQueries,
      timedRuns: measurements.queries,
    })
    .from(runs)
    .innerJoin(invocations, eq(invocations.invocationId, runs.invocationId))
    .innerJoin(environments, eq(environments.environmentId, runs.environmentId))
    .leftJoin(measurements, eq(measurements.runId, runs.runId))
    .where(eq(runs.runId, runId))
    .get();
  if (row === undefined) return null;
  const { argv, ...facts } = row;
  return trtexecMethod(cell, argv, facts);
}

/** The programs other than trtexec that measured a sweep, with their versions; null where one did not say it. */
export function harnessVersionsOf(
  db: StoreDatabase,
  sweepId: string,
): { readonly harness: string; readonly version: string | null }[] {
  const { harness, harnessVersion } = runMethods;
  return db
    .selectDistinct({ harness, version: harnessVersion })
    .from(runMethods)
    .innerJoin(runs, eq(runs.runId, runMethods.runId))
    .where(eq(runs.sweepId, sweepId))
    .orderBy(harness, harnessVersion)
    .all();
}

/** Every metric of other harnesses that the store has a number of. */
export function storedMetrics(db: StoreDatabase): CustomMetricId[] {
  return db
    .selectDistinct({ metric: runValues.metric })
    .from(runValues)
    .all()
    .map(({ metric }) => metric);
}

/** The numbers of another harness, in its own order. */
export function valuesOfRun(db: StoreDatabase, runId: string): HarnessValue[] {
  return db
    .select({ metric: runValues.metric, value: runValues.value })
    .from(runValues)
    .where(eq(runValues.runId, runId))
    .orderBy(runValues.position)
    .all();
}
