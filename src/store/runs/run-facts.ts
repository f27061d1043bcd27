import { and, countDistinct, eq, getTableColumns, type SQL } from 'drizzle-orm';

import { trtexecMethod } from '../../judge/method.ts';
import type { Cell } from '../../records/cell.ts';
import type { HarnessValue, Method } from '../../records/harness.ts';
import { type CustomMetricId, isCustomMetric } from '../../records/metric.ts';
import type { RunFlag, RunFlagId } from '../../records/run-flag.ts';
import type { RunTelemetry } from '../../records/telemetry.ts';
import { isAmong, ofSweep, ON, textsIn } from '../conditions.ts';
import type { StoreDatabase } from '../file/open.ts';
import {
  environments,
  invocations,
  measurements,
  runFlags,
  runMethods,
  runs,
  runTelemetry,
  runValues,
} from '../schema.ts';
import type { RunId, SweepId } from '../../records/scalars.ts';

const isOfRun = eq(runFlags.runId, runs.runId);

export function flagsOf(db: StoreDatabase, whichRuns: SQL | undefined): Map<string, RunFlag[]> {
  const { runId: id, flag: flagId, ...facts } = getTableColumns(runFlags);
  const flagged = db
    .select({ runId: id, id: flagId, ...facts })
    .from(runs)
    .innerJoin(runFlags, isOfRun);
  const rows = flagged.where(whichRuns).orderBy(id).all();
  const byRun = new Map<string, RunFlag[]>();
  for (const { runId, ...flag } of rows) {
    const known = byRun.get(runId);
    if (known === undefined) byRun.set(runId, [flag]);
    else known.push(flag);
  }
  return byRun;
}

export function flagsOfRun(db: StoreDatabase, runId: RunId): RunFlag[] {
  return flagsOf(db, eq(runs.runId, runId)).get(runId) ?? [];
}

export function flaggedRuns(db: StoreDatabase, sweepId: SweepId, flag: RunFlagId): number {
  const which = and(eq(runs.sweepId, sweepId), eq(runFlags.flag, flag), ofSweep);
  const number = countDistinct(runs.runId);
  return db.select({ number }).from(runs).innerJoin(runFlags, isOfRun).where(which).get()?.number ?? 0;
}

/** Telemetry by run ID; omits runs that were not monitored. */
export function telemetryOf(db: StoreDatabase, runIds: readonly RunId[]): Map<string, RunTelemetry> {
  const rows = db.select().from(runTelemetry).where(isAmong(runTelemetry.runId, runIds)).all();
  return new Map(rows.map(({ runId, ...telemetry }) => [runId, telemetry]));
}

/**
 * The method of a run. That of trtexec follows from its options. Null for an unknown run, or one that failed in another
 * harness.
 */
export function methodOf(db: StoreDatabase, runId: RunId, cell: Cell | null): Method | null {
  const stored = db.select().from(runMethods).where(eq(runMethods.runId, runId)).get();
  if (stored !== undefined) {
    const { runId: _, ...method } = stored;
    return method;
  }
  // A failed run of another harness does not show its method.
  if (cell?.harness !== undefined) return null;
  const row = db
    .select({
      argv: invocations.argv,
      harnessVersion: environments.tensorrt,
      warmUpRuns: measurements.warmUpQueries,
      timedRuns: measurements.queries,
    })
    .from(runs)
    .innerJoin(invocations, ON.invocation)
    .innerJoin(environments, ON.environment)
    .leftJoin(measurements, ON.measurement)
    .where(eq(runs.runId, runId))
    .get();
  if (row === undefined) return null;
  const { argv, ...facts } = row;
  return trtexecMethod(cell, argv, facts);
}

export function storedMetrics(db: StoreDatabase): CustomMetricId[] {
  return textsIn(db, runValues.metric).filter(isCustomMetric);
}

export function valuesOfRun(db: StoreDatabase, runId: RunId): HarnessValue[] {
  const { metric, value, position } = runValues;
  return db.select({ metric, value }).from(runValues).where(eq(runValues.runId, runId)).orderBy(position).all();
}
