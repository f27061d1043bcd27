import { and, asc, desc, eq, getTableColumns, isNull, lt, type SQL } from 'drizzle-orm';

import { orNull } from '../../errors.ts';
import { boundOf } from '../../judge/bound.ts';
import { TIMED_METRICS, type TimeStatistics, type TimedMetric } from '../../records/harness.ts';
import type { MetricId } from '../../records/metric.ts';
import type { BuildId, CellKey, RunId, SweepId } from '../../records/scalars.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import type { QueryTimes } from '../../trtexec/run-facts.ts';
import { findCells } from '../cells.ts';
import { idBegins, isAmong, isAmongOrAny, ofSweep, ON } from '../conditions.ts';
import type { StoreDatabase } from '../file/open.ts';
import { newestSweepFirst } from '../sweeps/sweep-order.ts';
import {
  artefacts,
  attachments,
  attempts,
  builds,
  environments,
  invocations,
  measurements,
  prunedRuns,
  runEvidence,
  runs,
  sweeps,
  timeStatistics,
  runValues,
} from '../schema.ts';
import { decodeSamples } from './blob-codecs.ts';
import { outcomeFrom } from './runs.ts';
import type { Attachment } from '../../records/attachment.ts';
import { blobOf, hintsOf, flagsOfRun, telemetryOf, methodOf } from './run-details.ts';
import { runValues as metricsOfRuns } from './run-values.ts';

/** All stored data of a run, except its samples. */
export type ShownRun = NonNullable<ReturnType<typeof showRun>>;

export function findRunsByPrefix(db: StoreDatabase, prefix: string): string[] {
  const { runId } = runs;
  const found = db.select({ runId }).from(runs).where(idBegins(runId, prefix)).limit(3).all();
  return found.map((row) => row.runId);
}

export function runsOfCell(db: StoreDatabase, cellKey: CellKey, limit: number) {
  const { runId, sweepId, role, repeat, startedAt, outcome, reason } = runs;
  const columns = { runId, sweepId, role, repeat, startedAt, outcome, reason };
  const stored = db
    .select(columns)
    .from(runs)
    .where(and(eq(runs.cellKey, cellKey), ofSweep));
  const rows = stored.orderBy(desc(startedAt), desc(repeat)).limit(limit).all();
  return rows.map(({ outcome: kind, reason: why, ...run }) => ({ ...run, outcome: outcomeFrom(kind, why) }));
}

export function showRun(db: StoreDatabase, runId: RunId) {
  const stored = db.select().from(runs).innerJoin(invocations, ON.invocation).innerJoin(environments, ON.environment);
  const ofPruned = and(eq(prunedRuns.runId, runs.runId), prunedRuns.artefacts);
  const row = stored.leftJoin(builds, ON.build).leftJoin(prunedRuns, ofPruned).where(eq(runs.runId, runId)).get();
  if (row === undefined) return null;
  const run = row.runs;
  const { environmentId: _, ...environment } = row.environments;
  const { runId: _ofRun, ...measurementColumns } = getTableColumns(measurements);
  const { runId: _ofFile, ...artefactColumns } = getTableColumns(artefacts);
  const measured = db.select(measurementColumns).from(measurements).where(eq(measurements.runId, runId)).get();
  const { stream, line, text } = runEvidence;
  const evidence = db.select({ stream, line, text }).from(runEvidence).where(eq(runEvidence.runId, runId));
  const { sweepId: _sweep, runId: _run, ...attemptColumns } = getTableColumns(attempts);
  const tries = db.select(attemptColumns).from(attempts).where(eq(attempts.runId, runId));
  const { metric, value } = runValues;
  const values = db.select({ metric, value }).from(runValues).where(eq(runValues.runId, runId));
  const loadS = metricsOfRuns(db, ['loadS']).where(eq(runs.runId, runId)).get()?.values['loadS'] ?? null;
  const load = loadS === null ? [] : [{ metric: 'loadS' as const, value: loadS }];
  const [statistics, flags] = [statisticsOf(db, runId), flagsOfRun(db, runId)];
  const medianOf = (name: TimedMetric): number | null => statistics[name]?.median ?? null;
  const { gpuBusy = null, enqueueRatio = null } = measured ?? {};
  const [gpuComputeMs, h2dMs, d2hMs] = [medianOf('gpuComputeMs'), medianOf('h2dMs'), medianOf('d2hMs')];
  const shares = { flags, values: { gpuBusy, enqueueRatio, gpuComputeMs, h2dMs, d2hMs } };
  const cell = run.cellKey === null ? null : (findCells(db, [run.cellKey]).get(run.cellKey) ?? null);
  const { sweepId, cellKey, role, repeat, provenance, startedAt, wallS, exitCode, signal, timedOut, buildId } = run;
  const { argv, env } = row.invocations;
  const outcome = { ...outcomeFrom(run.outcome, run.reason), evidence: evidence.orderBy(runEvidence.position).all() };
  const about = { runId, sweepId, cellKey, role, repeat, provenance, outcome };
  const process = { startedAt, wallS, exitCode, signal, timedOut, argv, env };
  return {
    ...about,
    ...process,
    environment,
    buildId,
    buildModel: row.builds?.model || null,
    engineSha256: run.engineSha256,
    measurement: measured ?? null,
    statistics,
    bound: measured === undefined ? null : boundOf(cell, [{ ...measured, ...shares }], environment),
    values: [...values.orderBy(runValues.position).all(), ...load],
    method: role === 'timed' ? methodOf(db, runId, cell) : null,
    telemetry: telemetryOf(db, [runId]).get(runId) ?? null,
    flags,
    hints: hintsOf(db, [runId]).get(runId) ?? [],
    notes: run.notes,
    /** One without an end was interrupted. */
    attempts: tries.orderBy(asc(attempts.attempt)).all(),
    artefacts: db.select(artefactColumns).from(artefacts).where(eq(artefacts.runId, runId)).all(),
    artefactFolder: row.pruned_runs === null ? run.artefactFolder : null,
    prunedAt: row.pruned_runs?.prunedAt ?? null,
    attachments: attachmentsOf(db, runId).map(({ runId: _of, ...attachment }) => attachment),
    cell,
  };
}

/** The fastest measured run of a cell in its newest sweep; null without one. */
export function fastestRunOf(db: StoreDatabase, cellKey: CellKey): string | null {
  const which = and(eq(runs.cellKey, cellKey), eq(runs.role, 'timed'), eq(runs.outcome, 'measured'));
  const all = db.select({ runId: runs.runId }).from(runs).innerJoin(sweeps, ON.sweep);
  const measured = all.leftJoin(measurements, ON.measurement).where(which);
  return measured.orderBy(newestSweepFirst, desc(measurements.throughputQps)).limit(1).get()?.runId ?? null;
}

/** Build options without paths; empty for a build that is not stored. */
export function buildFlagsOf(db: StoreDatabase, buildId: BuildId): readonly string[] {
  return db.select({ flags: builds.flags }).from(builds).where(eq(builds.buildId, buildId)).get()?.flags ?? [];
}

/** Null for missing and damaged samples, on which nothing else of the run depends. */
export function runSamples(db: StoreDatabase, runId: RunId): QueryTimes | null {
  const data = blobOf(db, 'samples', runId);
  return data === null ? null : orNull(() => decodeSamples(data));
}

function statisticsOf(db: StoreDatabase, runId: RunId): Record<string, TimeStatistics> {
  const rows = db.select().from(timeStatistics).where(eq(timeStatistics.runId, runId)).all();
  const entries = rows.flatMap((row): [string, TimeStatistics][] => {
    const metric = `${row.metric}Ms`;
    if (!isOneOf(TIMED_METRICS, metric)) return [];
    const { maxMs: max, meanMs: mean, medianMs: median, minMs: min, percentiles } = row;
    return [[metric, { min, max, mean, median, percentiles }]];
  });
  return Object.fromEntries(entries);
}

export type PlacedAttachment = ReturnType<typeof keptAttachments>[number];

/** Also replaces a pruned attachment of that name. */
export function saveAttachment(db: StoreDatabase, attachment: Attachment): void {
  const target = [attachments.runId, attachments.name];
  db.insert(attachments).values(attachment).onConflictDoUpdate({ target, set: attachment }).run();
}

export function attachmentsOf(db: StoreDatabase, runId: RunId): Attachment[] {
  const { attachedAt, name } = attachments;
  return db.select().from(attachments).where(eq(attachments.runId, runId)).orderBy(asc(attachedAt), asc(name)).all();
}

/** Attachments whose files are there. */
function placed(db: StoreDatabase, which: SQL | undefined) {
  const columns = { ...getTableColumns(attachments), sweepId: runs.sweepId };
  const all = db.select(columns).from(attachments).innerJoin(runs, eq(runs.runId, attachments.runId));
  return all.where(and(which, isNull(attachments.prunedAt))).$dynamic();
}

export function attachmentsOfCell(
  db: StoreDatabase,
  cellKey: CellKey,
  kind: Attachment['kind'],
  sweepIds: readonly SweepId[] | null,
): PlacedAttachment[] {
  const which = and(eq(runs.cellKey, cellKey), eq(attachments.kind, kind), isAmongOrAny(runs.sweepId, sweepIds));
  return placed(db, which).orderBy(desc(attachments.attachedAt), desc(attachments.name)).all();
}

export function keptAttachments(db: StoreDatabase, sweepIds: readonly SweepId[]) {
  return placed(db, isAmong(runs.sweepId, sweepIds)).orderBy(asc(attachments.runId), asc(attachments.name)).all();
}

export function attachmentsBefore(db: StoreDatabase, before: string): PlacedAttachment[] {
  const { attachedAt, name, runId } = attachments;
  return placed(db, lt(attachedAt, before)).orderBy(asc(attachedAt), asc(runId), asc(name)).all();
}

export function markPruned(
  db: StoreDatabase,
  { runId, name }: Pick<Attachment, 'runId' | 'name'>,
  prunedAt: string,
): void {
  const which = and(eq(attachments.runId, runId), eq(attachments.name, name));
  db.update(attachments).set({ prunedAt }).where(which).run();
}

const COLUMNS = { gpuComputeMs: 'computeMs', latencyMs: 'latencyMs' } as const;

export type RunQueries = Readonly<NonNullable<ReturnType<typeof queryTimes>>>;

/**
 * Queries of the runs in milliseconds, pooled in order, and the number of runs that kept theirs; null if the metric is
 * not timed per query, or if no run kept queries.
 */
export function queryTimes(db: StoreDatabase, runIds: readonly RunId[], metric: MetricId) {
  const timed = metric === 'p99Ms' ? 'latencyMs' : metric;
  if (timed !== 'gpuComputeMs' && timed !== 'latencyMs') return null;
  const columns = runIds.flatMap((runId) => runSamples(db, runId)?.columns[COLUMNS[timed]] ?? []);
  const kept = columns.filter(({ length }) => length > 0);
  return kept.length === 0 ? null : { metric: timed, runs: kept.length, values: kept.flatMap((own) => [...own]) };
}
