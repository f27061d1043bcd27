import { and, asc, eq, getTableColumns, inArray, ne, type SQL, sql } from 'drizzle-orm';

import { FAILURE_REASONS, type Outcome, UNFIT_REASONS } from '../../records/outcome.ts';
import type { RunRole, RunTry } from '../../records/run.ts';
import { columnOf, immediately, type StoreDatabase } from '../file/open.ts';
import { attempts, builds, runEvidence, runs } from '../schema.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import type { CellKey, RunId, SweepId } from '../../records/scalars.ts';

/** Condition that excludes pairs, which are measured after a sweep and with engines of another one. */
export const ofSweep = ne(runs.role, 'pair');

/** The highest repeat; 0 if there is none. */
export function highestRepeat(db: StoreDatabase, sweepId: SweepId, role: RunRole, cellKey: CellKey | null): number {
  const query = 'SELECT coalesce(max(repeat), 0) FROM runs WHERE sweep_id = ? AND role = ? AND cell_key IS ?';
  return columnOf<number>(db, query, sweepId, role, cellKey)[0] ?? 0;
}

/** The outcome of a run without its evidence; null if it is not stored. */
export function findOutcome(db: StoreDatabase, runId: RunId): Outcome | null {
  const row = db.select({ outcome: runs.outcome, reason: runs.reason }).from(runs).where(eq(runs.runId, runId)).get();
  return row === undefined ? null : outcomeFrom(row.outcome, row.reason);
}

/** A reason of a damaged row becomes `unknown`, and never another known one. */
export function outcomeFrom(kind: Outcome['kind'], reason: string | null): Outcome {
  if (kind === 'measured' || kind === 'built') return { kind, evidence: [] };
  if (kind === 'unfit' && isOneOf(UNFIT_REASONS, reason)) return { kind, reason, evidence: [] };
  return { kind: 'failed', reason: isOneOf(FAILURE_REASONS, reason) ? reason : 'unknown', evidence: [] };
}

export function engineKeysOf(db: StoreDatabase, sweepId: SweepId, cellKeys: readonly CellKey[]): string[] {
  return columnOf(
    db,
    `SELECT DISTINCT engine_key FROM runs WHERE sweep_id = ? AND role <> 'pair' AND engine_key IS NOT NULL
     AND cell_key IN (SELECT value FROM json_each(?))`,
    sweepId,
    JSON.stringify(cellKeys),
  );
}

export function enginesOf(db: StoreDatabase, sweepIds: readonly SweepId[], cellKey: CellKey): string[] {
  const among = `FROM runs WHERE role <> 'pair' AND cell_key = @cellKey AND sweep_id IN (SELECT value FROM json_each(@ids))`;
  const named = ['engine_sha256', 'build_id'].map((name) => `SELECT ${name} AS id ${among} AND ${name} IS NOT NULL`);
  return columnOf(db, named.join(' UNION '), { cellKey, ids: JSON.stringify(sweepIds) });
}

export function cellKeysOf(db: StoreDatabase, sweepIds: readonly SweepId[]): Set<string> {
  const query = `SELECT DISTINCT cell_key FROM runs WHERE role <> 'pair' AND cell_key IS NOT NULL
    AND sweep_id IN (SELECT value FROM json_each(?))`;
  return new Set(columnOf<string>(db, query, JSON.stringify(sweepIds)));
}

/** Sets the date of a run; false if nothing changed. `instead` replaces an existing date. */
export function redateRun({ $client }: StoreDatabase, runId: RunId, startedAt: string, instead: boolean): boolean {
  const isOther = instead ? 'started_at IS NOT @startedAt' : 'started_at IS NULL';
  const update = $client.prepare(`UPDATE runs SET started_at = @startedAt WHERE run_id = @runId AND ${isOther}`);
  return update.run({ runId, startedAt }).changes > 0;
}

/** Records that a process is about to be started, and returns the attempt's number, from 1. */
export function recordAttempt(db: StoreDatabase, sweepId: SweepId, runId: RunId, startedAt: string): number {
  return immediately(db, () => {
    const query = 'SELECT coalesce(max(attempt), 0) FROM attempts WHERE run_id = ? AND sweep_id = ?';
    const attempt = (columnOf<number>(db, query, runId, sweepId)[0] ?? 0) + 1;
    db.insert(attempts).values({ runId, attempt, sweepId, startedAt }).run();
    return attempt;
  });
}

/** Records the end of an attempt, even if its start is not in this store, as in an import. */
export function recordTry(db: StoreDatabase, sweepId: SweepId, runId: RunId, ended: RunTry): void {
  const { startedAt, endedAt, outcome, reason, evidence } = ended;
  db.insert(attempts)
    .values({ ...ended, runId, sweepId })
    .onConflictDoUpdate({
      target: [attempts.runId, attempts.attempt],
      set: { startedAt, endedAt, outcome, reason, evidence },
    })
    .run();
}

/** The attempts of a run; one without an end was interrupted. */
export function attemptsOf(db: StoreDatabase, runId: RunId) {
  const { sweepId: _sweepId, runId: _runId, ...columns } = getTableColumns(attempts);
  return db.select(columns).from(attempts).where(eq(attempts.runId, runId)).orderBy(asc(attempts.attempt)).all();
}

export type FailedRun = ReturnType<typeof failedWhere>[number];

export function failedRunsOf(db: StoreDatabase, sweepId: SweepId): FailedRun[] {
  return failedWhere(db, and(eq(runs.sweepId, sweepId), ofSweep));
}

/** Failed runs of one cell in some sweeps, in the order of the sweeps. */
export function failedRunsOfCell(db: StoreDatabase, sweepIds: readonly SweepId[], cellKey: CellKey): FailedRun[] {
  const isThere = sql`${runs.sweepId} in (select value from json_each(${JSON.stringify(sweepIds)}))`;
  const bySweep = Map.groupBy(
    failedWhere(db, and(eq(runs.cellKey, cellKey), isThere, ofSweep)),
    ({ sweepId }) => sweepId,
  );
  return sweepIds.flatMap((sweepId) => bySweep.get(sweepId) ?? []);
}

export function failedAmong(db: StoreDatabase, runIds: readonly RunId[]): FailedRun[] {
  return failedWhere(db, sql`${runs.runId} in (select value from json_each(${JSON.stringify(runIds)}))`);
}

function failedWhere(db: StoreDatabase, which: SQL | undefined) {
  const { runId, sweepId, cellKey, role, startedAt, outcome, reason } = runs;
  const first = { stream: runEvidence.stream, line: runEvidence.line, text: runEvidence.text };
  return db
    .select({ runId, sweepId, cellKey, role, startedAt, outcome, reason, model: builds.model, first })
    .from(runs)
    .leftJoin(builds, eq(builds.buildId, runs.buildId))
    .leftJoin(runEvidence, and(eq(runEvidence.runId, runs.runId), eq(runEvidence.position, 0)))
    .where(and(which, inArray(runs.outcome, ['unfit', 'failed'])))
    .orderBy(asc(runs.startedAt), asc(runs.runId))
    .all()
    .map(({ outcome: kind, reason: why, model, first: line, ...run }) => {
      const stored = outcomeFrom(kind, why);
      return {
        ...run,
        /** Model of a build; null if unknown. */
        buildModel: run.role === 'build' ? model : null,
        outcome: line === null ? stored : { ...stored, evidence: [line] },
      };
    });
}
