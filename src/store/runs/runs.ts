import { and, eq, inArray, isNull, max, ne, or } from 'drizzle-orm';

import { FAILURE_REASONS, type Outcome, UNFIT_REASONS } from '../../records/outcome.ts';
import type { RunRole } from '../../records/run.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import type { StoreDatabase } from '../file/open.ts';
import { runs } from '../schema.ts';

/** The last repeat of a cell in a sweep; 0 when there is none. */
export function highestRepeat(db: StoreDatabase, sweepId: string, role: RunRole, cellKey: string | null): number {
  const row = db
    .select({ repeat: max(runs.repeat) })
    .from(runs)
    .where(
      and(
        eq(runs.sweepId, sweepId),
        eq(runs.role, role),
        cellKey === null ? isNull(runs.cellKey) : eq(runs.cellKey, cellKey),
      ),
    )
    .get();
  return row?.repeat ?? 0;
}

/** What became of a run, without its evidence; null when it is not stored. */
export function findOutcome(db: StoreDatabase, runId: string): Outcome | null {
  const row = db.select({ outcome: runs.outcome, reason: runs.reason }).from(runs).where(eq(runs.runId, runId)).get();
  return row === undefined ? null : outcomeFrom(row.outcome, row.reason);
}

export function outcomeFrom(kind: Outcome['kind'], reason: string | null): Outcome {
  switch (kind) {
    case 'measured':
    case 'built':
      return { kind, evidence: [] };
    case 'unfit':
      return isOneOf(UNFIT_REASONS, reason) ? { kind, reason, evidence: [] } : unknownReason(reason);
    case 'failed':
      return isOneOf(FAILURE_REASONS, reason) ? { kind, reason, evidence: [] } : unknownReason(reason);
  }
}

/** A reason that a newer bench stored, or that is damaged: none of those that are known may stand for it. */
function unknownReason(reason: string | null): Outcome {
  const text = `the store says ${JSON.stringify(reason)}, which is no reason that this bench knows`;
  return { kind: 'failed', reason: 'unknown', evidence: [{ stream: 'stdout', line: 0, text }] };
}

/** The engines, by their keys, that runs of these cells in a sweep have loaded. */
export function engineKeysOf(db: StoreDatabase, sweepId: string, cellKeys: readonly string[]): string[] {
  return db
    .selectDistinct({ engineKey: runs.engineKey })
    .from(runs)
    .where(and(eq(runs.sweepId, sweepId), inArray(runs.cellKey, [...cellKeys])))
    .all()
    .flatMap(({ engineKey }) => engineKey ?? []);
}

/** Hashes and build ids of the engines that a cell ran with in some sweeps. */
export function enginesOf(db: StoreDatabase, sweepIds: readonly string[], cellKey: string): string[] {
  const rows = db
    .selectDistinct({ sha256: runs.engineSha256, buildId: runs.buildId })
    .from(runs)
    .where(and(inArray(runs.sweepId, [...sweepIds]), eq(runs.cellKey, cellKey)))
    .all();
  return rows.flatMap(({ sha256, buildId }) => [sha256, buildId].filter((id) => id !== null));
}

/** The cells of which some sweeps have a run. */
export function cellKeysOf(db: StoreDatabase, sweepIds: readonly string[]): Set<string> {
  const rows = db
    .selectDistinct({ cellKey: runs.cellKey })
    .from(runs)
    .where(inArray(runs.sweepId, [...sweepIds]))
    .all();
  return new Set(rows.flatMap(({ cellKey }) => cellKey ?? []));
}

/**
 * Says when a stored run began.
 * @param instead replaces a date that it has
 * @returns false when nothing changed
 */
export function redateRun(db: StoreDatabase, runId: string, startedAt: string, instead: boolean): boolean {
  const undated = isNull(runs.startedAt);
  const isOther = instead ? or(undated, ne(runs.startedAt, startedAt)) : undated;
  const { changes } = db
    .update(runs)
    .set({ startedAt })
    .where(and(eq(runs.runId, runId), isOther))
    .run();
  return changes > 0;
}
