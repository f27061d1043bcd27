import { and, eq, inArray, ne, type SQL, sql } from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';

import type { MetricId, MetricValues } from '../../records/metric.ts';
import { isFine, type Outcome } from '../../records/outcome.ts';
import type { Provenance } from '../../records/provenance.ts';
import type { RemarkForNumber } from '../../trtexec/hint-numbers.ts';
import type { RunFlag } from '../../records/run-flag.ts';
import type { RunRole } from '../../records/run.ts';
import type { Sweep } from '../../records/sweep.ts';
import { equalOrNull } from '../equal-or-null.ts';
import { failedRunsOf } from './failed-runs.ts';
import type { StoreDatabase } from '../file/open.ts';
import { flagsOf } from './run-flags.ts';
import { outcomeFrom } from './runs.ts';
import { builds, measurements, runs, runMethods, runTelemetry, runValues, sweeps, timeStatistics } from '../schema.ts';
import type { CustomMetricId } from '../../records/metric.ts';
import { newestRunFirst } from '../sweeps/sweep-order.ts';

/** One run of a cell, with the value of every metric that it has. */
export interface CellRun {
  readonly runId: string;
  readonly sweepId: string;
  readonly cellKey: string;
  readonly role: RunRole;
  readonly repeat: number;
  readonly startedAt: string | null;
  readonly commit: string | null;
  readonly dirty: boolean | null;
  /** With its first evidence. */
  readonly outcome: Outcome;
  readonly buildId: string | null;
  readonly engineKey: string | null;
  readonly environmentId: string;
  /** Null when nobody watched the machine. */
  readonly smClockMhz: number | null;
  readonly flags: readonly RunFlag[];
  /** Median enqueue time over median GPU compute time. */
  readonly enqueueRatio: number | null;
  /** Summary statistics: medians, and p99 of the latency. */
  readonly values: MetricValues;
  /**
   * Queries a second that follow from the median latency, where a harness has one query under way at a time and counts
   * no throughput; null for others.
   */
  readonly derivedQps: number | null;
  /** Robust centres of the run's samples, where they were kept. */
  readonly centres: Readonly<Partial<Record<MetricId, number>>>;
}

const gpu = alias(timeStatistics, 'gpu');
const latency = alias(timeStatistics, 'latency');
const enqueue = alias(timeStatistics, 'enqueue');

/** Of the newest comparison of the file that the engine was built from; null when nobody compared it. */
const outputErrorPercent = sql<number | null>`(
  select 100 * a.relative_error from accuracy a
  where a.variant_sha256 = ${builds.modelSha256} order by a.measured_at desc limit 1)`;

/** How long the engine took to load. */
const loadS = sql<number | null>`(
  select h.value from run_hints h
  where h.run_id = ${runs.runId} and h.hint = ${'engine_loaded_s' satisfies RemarkForNumber})`;

/** Of the build of its engine; few logs have it. */
const refitMs = sql<number | null>`(
  select h.value from run_hints h join runs b on b.run_id = h.run_id
  where h.hint = ${'engine_refitted_ms' satisfies RemarkForNumber} and b.build_id = ${runs.buildId} limit 1)`;

function select(db: StoreDatabase) {
  return db
    .select({
      runId: runs.runId,
      sweepId: runs.sweepId,
      cellKey: runs.cellKey,
      role: runs.role,
      repeat: runs.repeat,
      startedAt: runs.startedAt,
      commit: sweeps.commit,
      dirty: sweeps.dirty,
      outcome: runs.outcome,
      reason: runs.reason,
      buildId: runs.buildId,
      engineKey: runs.engineKey,
      environmentId: runs.environmentId,
      gpuComputeMs: gpu.medianMs,
      latencyMs: latency.medianMs,
      throughputQps: measurements.throughputQps,
      p99Ms: latency.p99Ms,
      enqueueMs: enqueue.medianMs,
      buildS: builds.buildS,
      engineMib: builds.engineMib,
      contextMib: measurements.contextMemoryMib,
      memoryMib: runTelemetry.memoryUsedMaxMib,
      loadS,
      refitMs,
      outputErrorPercent,
      gpuComputeCentreMs: measurements.gpuComputeCentreMs,
      latencyCentreMs: measurements.latencyCentreMs,
      enqueueRatio: measurements.enqueueRatio,
      smClockMhz: runTelemetry.smClockMhz,
    })
    .from(runs)
    .innerJoin(sweeps, eq(sweeps.sweepId, runs.sweepId))
    .leftJoin(measurements, eq(measurements.runId, runs.runId))
    .leftJoin(gpu, and(eq(gpu.runId, runs.runId), eq(gpu.metric, 'gpuCompute')))
    .leftJoin(latency, and(eq(latency.runId, runs.runId), eq(latency.metric, 'latency')))
    .leftJoin(enqueue, and(eq(enqueue.runId, runs.runId), eq(enqueue.metric, 'enqueue')))
    .leftJoin(runTelemetry, eq(runTelemetry.runId, runs.runId))
    .leftJoin(builds, eq(builds.buildId, runs.buildId))
    .$dynamic();
}

type CellRunRow = ReturnType<ReturnType<typeof select>['all']>[number];

function fromRow(row: CellRunRow, flags: readonly RunFlag[], own: Values, isOneByOne: boolean): CellRun[] {
  if (row.cellKey === null) return [];
  const { outcome, reason, gpuComputeCentreMs, latencyCentreMs, latencyMs, throughputQps } = row;
  const isDerivable = isOneByOne && throughputQps === null && latencyMs !== null && latencyMs > 0;
  return [
    {
      runId: row.runId,
      sweepId: row.sweepId,
      cellKey: row.cellKey,
      role: row.role,
      repeat: row.repeat,
      startedAt: row.startedAt,
      commit: row.commit,
      dirty: row.dirty,
      outcome: outcomeFrom(outcome, reason),
      buildId: row.buildId,
      engineKey: row.engineKey,
      environmentId: row.environmentId,
      smClockMhz: row.smClockMhz,
      flags,
      enqueueRatio: row.enqueueRatio,
      values: {
        gpuComputeMs: row.gpuComputeMs,
        latencyMs: row.latencyMs,
        throughputQps: row.throughputQps,
        p99Ms: row.p99Ms,
        enqueueMs: row.enqueueMs,
        buildS: row.buildS,
        engineMib: row.engineMib,
        contextMib: row.contextMib,
        memoryMib: row.memoryMib,
        loadS: row.loadS,
        refitMs: row.refitMs,
        outputErrorPercent: row.outputErrorPercent,
        ...own,
      },
      derivedQps: isDerivable ? 1000 / latencyMs : null,
      centres: {
        ...(gpuComputeCentreMs === null ? {} : { gpuComputeMs: gpuComputeCentreMs }),
        ...(latencyCentreMs === null ? {} : { latencyMs: latencyCentreMs }),
      },
    },
  ];
}

/** All runs of the given sweeps that belong to a cell, in the order in which they were made. */
export function cellRunsOf(db: StoreDatabase, sweepIds: readonly string[]): CellRun[] {
  const rows = select(db)
    .where(inArray(runs.sweepId, [...sweepIds]))
    .orderBy(runs.startedAt, runs.repeat, runs.runId)
    .all();
  const which = inArray(runs.sweepId, [...sweepIds]);
  const complete = completed(rows, flagsOf(db, which), valuesOf(db, which), oneByOneRuns(db, which));
  const failing = new Set(complete.filter(({ outcome }) => !isFine(outcome)).map(({ sweepId }) => sweepId));
  if (failing.size === 0) return complete;
  const failed = [...failing].flatMap((sweepId) => failedRunsOf(db, sweepId));
  const outcomes = new Map(failed.map(({ runId, outcome }) => [runId, outcome]));
  return complete.map((run) => ({ ...run, outcome: outcomes.get(run.runId) ?? run.outcome }));
}

/** The last measured timed runs of a cell, the oldest first; those of one sweep, or of other branches, may be left out. */
export function lastMeasuredRuns(
  db: StoreDatabase,
  cellKey: string,
  provenance: Provenance,
  limit: number,
  {
    earlierIn,
    branch,
  }: { readonly earlierIn?: Pick<Sweep, 'sweepId' | 'branch' | 'matrix'>; readonly branch?: string | undefined } = {},
): CellRun[] {
  const rows = select(db)
    .where(
      and(
        eq(runs.cellKey, cellKey),
        eq(runs.role, 'timed'),
        eq(runs.outcome, 'measured'),
        eq(runs.provenance, provenance),
        earlierIn === undefined ? undefined : inSeries(earlierIn),
        branch === undefined ? undefined : eq(sweeps.branch, branch),
      ),
    )
    .orderBy(newestRunFirst)
    .limit(limit)
    .all();
  const ids = rows.map(({ runId }) => runId);
  const which = inArray(runs.runId, ids);
  return completed(rows, flagsOf(db, which), valuesOf(db, which), oneByOneRuns(db, which)).toReversed();
}

/** Other sweeps of the same matrix and branch. */
function inSeries({ sweepId, branch, matrix }: Pick<Sweep, 'sweepId' | 'branch' | 'matrix'>) {
  return and(ne(runs.sweepId, sweepId), equalOrNull(sweeps.branch, branch), equalOrNull(sweeps.matrix, matrix));
}

function completed(
  rows: readonly CellRunRow[],
  flags: ReadonlyMap<string, readonly RunFlag[]>,
  values: ReadonlyMap<string, Values>,
  oneByOne: ReadonlySet<string>,
): CellRun[] {
  return rows.flatMap((row) =>
    fromRow(row, flags.get(row.runId) ?? NO_FLAGS, values.get(row.runId) ?? NO_VALUES, oneByOne.has(row.runId)),
  );
}

type Values = Readonly<Partial<Record<CustomMetricId, number>>>;

const NO_VALUES: Values = {};

/** What other harnesses measured, by the id of the run. */
function valuesOf(db: StoreDatabase, whichRuns: SQL): Map<string, Values> {
  const byRun = new Map<string, Record<CustomMetricId, number>>();
  // Most stores have none: a look at one row spares a join over all runs.
  if (db.select({ runId: runValues.runId }).from(runValues).limit(1).get() === undefined) {
    return byRun;
  }
  const rows = db
    .select({ runId: runs.runId, metric: runValues.metric, value: runValues.value })
    .from(runs)
    .innerJoin(runValues, eq(runValues.runId, runs.runId))
    .where(whichRuns)
    .orderBy(runValues.position)
    .all();
  for (const { runId, metric, value } of rows) {
    byRun.set(runId, { ...byRun.get(runId), [metric]: value });
  }
  return byRun;
}

/** Runs of other harnesses that had one query under way at a time. */
function oneByOneRuns(db: StoreDatabase, whichRuns: SQL): Set<string> {
  if (db.select({ runId: runMethods.runId }).from(runMethods).limit(1).get() === undefined) {
    return new Set();
  }
  const rows = db
    .select({ runId: runs.runId })
    .from(runs)
    .innerJoin(runMethods, eq(runMethods.runId, runs.runId))
    .where(and(whichRuns, eq(runMethods.inFlight, 1)))
    .all();
  return new Set(rows.map(({ runId }) => runId));
}

const NO_FLAGS: readonly RunFlag[] = [];
