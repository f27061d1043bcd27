import { eq, isNull, like, ne, type SQL, sql } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';

import type { SweepId } from '../records/scalars.ts';
import type { StoreDatabase } from './file/open.ts';
import { builds, environments, invocations, measurements, runs, runTelemetry, sweeps } from './schema.ts';

/** Condition that excludes pairs, which are measured after a sweep and with engines of another one. */
export const ofSweep = ne(runs.role, 'pair');

/** The row of another table to which a run refers, or that refers to it. */
export const ON = {
  sweep: eq(sweeps.sweepId, runs.sweepId),
  build: eq(builds.buildId, runs.buildId),
  environment: eq(environments.environmentId, runs.environmentId),
  invocation: eq(invocations.invocationId, runs.invocationId),
  measurement: eq(measurements.runId, runs.runId),
  telemetry: eq(runTelemetry.runId, runs.runId),
} as const;

/** Uses one SQL parameter for any number of texts. */
export function isAmong(column: SQLiteColumn, texts: Iterable<string>): SQL {
  return sql`${column} in (select value from json_each(${JSON.stringify([...texts])}))`;
}

/** Null for any text. */
export function isAmongOrAny(column: SQLiteColumn, texts: Iterable<string> | null): SQL | undefined {
  return texts === null ? undefined : isAmong(column, texts);
}

export function equalOrNull(column: SQLiteColumn, value: string | null): SQL {
  return value === null ? isNull(column) : eq(column, value);
}

/** SQL for the GPU model of the sweep with this ID; null if unknown, as before its first run. */
export function gpuModelOf(sweepId: SQL | SQLiteColumn | SweepId): SQL<string | null> {
  return sql`(SELECT e.gpu_name FROM runs r JOIN environments e USING (environment_id)
    WHERE r.sweep_id = ${sweepId} AND e.gpu_name IS NOT NULL LIMIT 1)`;
}

/** Condition for a sweep on the GPU model of another one; any if that is unknown. */
export function isOnGpuOf(sweepId: SweepId, column: SQLiteColumn): SQL {
  return sql`ifnull(${gpuModelOf(sweepId)}, ${gpuModelOf(column)}) IS ${gpuModelOf(column)}`;
}

/** Condition on the first characters of an ID, at least four. */
export function idBegins(column: SQLiteColumn, start: string): SQL {
  return /^[0-9a-f]{4,32}$/.test(start) ? like(column, `${start}%`) : sql`0`;
}

/** Distinct texts in a column, without null. */
export function textsIn(db: StoreDatabase, column: SQLiteColumn, which?: SQL): string[] {
  const text = sql<string | null>`${column}`;
  const rows = db
    .selectDistinct({ text })
    .from(sql`${column.table}`)
    .where(which)
    .all();
  return rows.flatMap((row) => row.text ?? []);
}
