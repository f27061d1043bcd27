import { and, asc, eq, max, type SQL } from 'drizzle-orm';

import { FAILURE_REASONS, type Outcome, UNFIT_REASONS } from '../../records/outcome.ts';
import type { RunRole, RunTry } from '../../records/run.ts';
import { equalOrNull, isAmong, ofSweep, ON, textsIn } from '../conditions.ts';
import { immediately, type StoreDatabase } from '../file/open.ts';
import { attempts, builds, runEvidence, runs } from '../schema.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import type { CellKey, RunId, SweepId } from '../../records/scalars.ts';

/** The highest repeat; 0 if there is none. */
export function highestRepeat(db: StoreDatabase, sweepId: SweepId, role: RunRole, cellKey: CellKey | null): number {
  const which = and(eq(runs.sweepId, sweepId), eq(runs.role, role), equalOrNull(runs.cellKey, cellKey));
  const repeat = max(runs.repeat);
  return db.select({ repeat }).from(runs).where(which).get()?.repeat ?? 0;
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
  return textsIn(db, runs.engineKey, and(eq(runs.sweepId, sweepId), isAmong(runs.cellKey, cellKeys), ofSweep));
}

export function enginesOf(db: StoreDatabase, sweepIds: readonly SweepId[], cellKey: CellKey): string[] {
  const which = and(isAmong(runs.sweepId, sweepIds), eq(runs.cellKey, cellKey), ofSweep);
  return [runs.engineSha256, runs.buildId].flatMap((column) => textsIn(db, column, which));
}

export function cellKeysOf(db: StoreDatabase, sweepIds: readonly SweepId[]): Set<string> {
  return new Set(textsIn(db, runs.cellKey, and(isAmong(runs.sweepId, sweepIds), ofSweep)));
}

/** Records that a process is about to be started, and returns the attempt's number, from 1. */
export function recordAttempt(db: StoreDatabase, sweepId: SweepId, runId: RunId, startedAt: string): number {
  return immediately(db, () => {
    const which = and(eq(attempts.runId, runId), eq(attempts.sweepId, sweepId));
    const last = max(attempts.attempt);
    const attempt = (db.select({ last }).from(attempts).where(which).get()?.last ?? 0) + 1;
    db.insert(attempts).values({ runId, attempt, sweepId, startedAt }).run();
    return attempt;
  });
}

/** Records the end of an attempt, even if its start is not in this store, as in an import. */
export function recordTry(db: StoreDatabase, sweepId: SweepId, runId: RunId, ended: RunTry): void {
  const row = { ...ended, runId, sweepId };
  const { sweepId: _, ...set } = row;
  db.insert(attempts)
    .values(row)
    .onConflictDoUpdate({ target: [attempts.runId, attempts.attempt], set })
    .run();
}

export type FailedRun = ReturnType<typeof failedWhere>[number];

export function failedRunsOf(db: StoreDatabase, sweepId: SweepId): FailedRun[] {
  return failedWhere(db, and(eq(runs.sweepId, sweepId), ofSweep));
}

/** Failed runs of one cell in some sweeps, in the order of the sweeps. */
export function failedRunsOfCell(db: StoreDatabase, sweepIds: readonly SweepId[], cellKey: CellKey): FailedRun[] {
  const failed = failedWhere(db, and(eq(runs.cellKey, cellKey), isAmong(runs.sweepId, sweepIds), ofSweep));
  const bySweep = Map.groupBy(failed, ({ sweepId }) => sweepId);
  return sweepIds.flatMap((sweepId) => bySweep.get(sweepId) ?? []);
}

export function failedWhere(db: StoreDatabase, which: SQL | undefined) {
  const { runId, sweepId, cellKey, role, startedAt, outcome, reason } = runs;
  const first = { stream: runEvidence.stream, line: runEvidence.line, text: runEvidence.text };
  return db
    .select({ runId, sweepId, cellKey, role, startedAt, outcome, reason, model: builds.model, first })
    .from(runs)
    .leftJoin(builds, ON.build)
    .leftJoin(runEvidence, and(eq(runEvidence.runId, runs.runId), eq(runEvidence.position, 0)))
    .where(and(which, isAmong(runs.outcome, ['unfit', 'failed'])))
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
