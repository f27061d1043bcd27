import { and, eq, getTableColumns, type SQL, notInArray } from 'drizzle-orm';

import type { Method } from '../../records/harness.ts';
import { type CustomMetricId, isCustomMetric } from '../../records/metric.ts';
import type { RunId } from '../../records/scalars.ts';
import { isAmong, ON, textsIn } from '../conditions.ts';
import type { StoreDatabase } from '../file/open.ts';
import {
  environments,
  invocations,
  measurements,
  runs,
  runFlags,
  runHints,
  runMethods,
  runTelemetry,
  runValues,
} from '../schema.ts';
import { type StoredLayers, decodeLayers } from './blob-codecs.ts';
import { trtexecMethod } from '../../judge/method.ts';
import type { Cell } from '../../records/cell.ts';
import type { RunFlag } from '../../records/outcome.ts';
import type { RunTelemetry } from '../../records/telemetry.ts';
import { REMARKS_FOR_NUMBERS } from '../../trtexec/log/hints.ts';

export function runLayers(db: StoreDatabase, runId: RunId): StoredLayers | null {
  const data = blobOf(db, 'layer_profiles', runId);
  return data === null ? null : decodeLayers(data);
}

/** Reads a blob without the query builder, which takes longer than the read itself. Null if the run has none. */
export function blobOf({ $client }: StoreDatabase, table: 'layer_profiles' | 'samples', runId: RunId): Buffer | null {
  const statement = $client.prepare<[string], Buffer>(`SELECT data FROM ${table} WHERE run_id = ?`);
  return statement.pluck().get(runId) ?? null;
}

export function flagsOf(db: StoreDatabase, whichRuns: SQL | undefined): Map<string, RunFlag[]> {
  const { runId: id, flag: flagId, ...facts } = getTableColumns(runFlags);
  const columns = { runId: id, id: flagId, ...facts };
  const flagged = db.select(columns).from(runs).innerJoin(runFlags, eq(id, runs.runId));
  const byRun = Map.groupBy(flagged.where(whichRuns).orderBy(id).all(), ({ runId }) => runId);
  return new Map([...byRun].map(([runId, own]) => [runId, own.map(({ runId: _of, ...flag }) => flag)]));
}

export function hintsOf(db: StoreDatabase, runIds: readonly RunId[]): Map<string, string[]> {
  const which = and(isAmong(runHints.runId, runIds), notInArray(runHints.hint, [...REMARKS_FOR_NUMBERS]));
  const rows = db.select().from(runHints).where(which).all();
  const byRun = Map.groupBy(rows, ({ runId }) => runId);
  return new Map([...byRun].map(([runId, found]) => [runId, found.map(({ hint }) => hint)]));
}

export function flagsOfRun(db: StoreDatabase, runId: RunId): RunFlag[] {
  return flagsOf(db, eq(runs.runId, runId)).get(runId) ?? [];
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
  const { queries: timedRuns, warmUpQueries: warmUpRuns } = measurements;
  const columns = { argv: invocations.argv, harnessVersion: environments.tensorrt, warmUpRuns, timedRuns };
  const started = db.select(columns).from(runs).innerJoin(invocations, ON.invocation);
  const measured = started.innerJoin(environments, ON.environment).leftJoin(measurements, ON.measurement);
  const row = measured.where(eq(runs.runId, runId)).get();
  if (row === undefined) return null;
  const { argv, ...facts } = row;
  return trtexecMethod(cell, argv, facts);
}

export function storedMetrics(db: StoreDatabase): CustomMetricId[] {
  return textsIn(db, runValues.metric).filter(isCustomMetric);
}
