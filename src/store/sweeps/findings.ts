import { and, desc, eq, getTableColumns, lte, or, type SQL, sql, isNull } from 'drizzle-orm';

import type { Acknowledgement, Finding, JudgedSweep } from '../../records/finding.ts';
import type { SweepId } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import { equalOrNull, idBegins, isAmong, isOnGpuOf, textsIn } from '../conditions.ts';
import { immediately, type StoreDatabase } from '../file/open.ts';
import { acknowledgements, findingCells, findings, judgedSweeps } from '../annotations-schema.ts';

/** Findings of a series, ordered by ID. @param series its matrix may have had other names before */
export function findingsOf(
  db: StoreDatabase,
  series: Pick<Sweep, 'branch' | 'provenance' | 'sweepId'> & { readonly matrices: readonly (string | null)[] },
): Finding[] {
  const { branch, matrix, provenance, reportedSweepId } = findings;
  const ofMatrix = or(...series.matrices.map((name) => equalOrNull(matrix, name)));
  const isOfBranch = and(equalOrNull(branch, series.branch), eq(provenance, series.provenance));
  return select(db, and(ofMatrix, isOfBranch, isOnGpuOf(series.sweepId, reportedSweepId)));
}

export function listFindings(db: StoreDatabase, limit: number): Finding[] {
  return select(db, undefined, desc(sql`${findings}.rowid`), limit);
}

export function findFindingsByPrefix(db: StoreDatabase, prefix: string): Finding[] {
  return select(db, idBegins(findings.findingId, prefix), undefined, 3);
}

export function lastingFindings(db: StoreDatabase): Finding[] {
  const { direction, state } = findings;
  return select(db, and(eq(direction, 'slower'), eq(state, 'open')));
}

export function findingsReportedIn(db: StoreDatabase, sweepIds: readonly SweepId[]): Finding[] {
  return select(db, isAmong(findings.reportedSweepId, sweepIds));
}

/** All columns except the one that only `notNotified` and `markNotified` use. */
const { notifiedAt: _, ...findingColumns } = getTableColumns(findings);

function select(
  db: StoreDatabase,
  which: SQL | undefined,
  order: SQL = sql`${findings.findingId}`,
  limit = NO_LIMIT,
): Finding[] {
  const rows = db.select(findingColumns).from(findings).where(which).orderBy(order).limit(limit).all();
  const ids = rows.map(({ findingId }) => findingId);
  const { findingId: id } = findingCells;
  const cells = db.select().from(findingCells).where(isAmong(id, ids));
  const changed = cells.orderBy(id, sql`${findingCells}.rowid`).all();
  const ofFinding = Map.groupBy(changed, ({ findingId }) => findingId);
  return rows.map((row) => ({
    ...row,
    cells: (ofFinding.get(row.findingId) ?? []).map(({ findingId: _of, ...cell }) => cell),
  }));
}

const NO_LIMIT = -1;

/** The answer of the gate for one sweep, with the new state of earlier findings. */
export interface StoredVerdict {
  readonly judged: JudgedSweep;
  readonly findings: readonly Finding[];
  /** IDs of findings that an earlier judgment of the same sweep reported, but not this one. */
  readonly retracted: readonly string[];
  /** IDs of findings whose acknowledgement has ended. */
  readonly endedAcknowledgements: readonly string[];
}

/** Saves a verdict in one transaction. */
export function saveVerdict(db: StoreDatabase, verdict: StoredVerdict): void {
  const { judged } = verdict;
  immediately(db, () => {
    db.delete(findings).where(isAmong(findings.findingId, verdict.retracted)).run();
    for (const finding of verdict.findings) saveFinding(db, finding);
    db.delete(acknowledgements).where(isAmong(acknowledgements.findingId, verdict.endedAcknowledgements)).run();
    db.insert(judgedSweeps).values(judged).onConflictDoUpdate({ target: judgedSweeps.sweepId, set: judged }).run();
  });
}

export function saveFinding(db: StoreDatabase, { cells: changed, ...finding }: Finding): void {
  const { findingId } = finding;
  db.insert(findings).values(finding).onConflictDoUpdate({ target: findings.findingId, set: finding }).run();
  db.delete(findingCells).where(eq(findingCells.findingId, findingId)).run();
  const rows = changed.map((cell) => ({ ...cell, findingId }));
  for (const row of rows) db.insert(findingCells).values(row).run();
}

/** The judgments of some sweeps by ID; omits unjudged ones. */
export function judgedAmong(db: StoreDatabase, sweepIds: readonly SweepId[]): Map<string, JudgedSweep> {
  const rows = db.select().from(judgedSweeps).where(isAmong(judgedSweeps.sweepId, sweepIds)).all();
  return new Map(rows.map((row) => [row.sweepId, row]));
}

/** @param until instant after which none counts; null for all */
export function acknowledgementsOf(db: StoreDatabase, findingIds: readonly string[], until: string | null = null) {
  const { createdAt, findingId } = acknowledgements;
  const dated = until === null ? undefined : lte(createdAt, until);
  const rows: Acknowledgement[] = db
    .select()
    .from(acknowledgements)
    .where(and(isAmong(findingId, findingIds), dated))
    .all();
  return new Map(rows.map((row) => [row.findingId, row]));
}

/** Stores all acknowledgements, or none of them. */
export function acknowledge(db: StoreDatabase, rows: readonly Acknowledgement[]): void {
  const target = acknowledgements.findingId;
  immediately(db, () => {
    for (const row of rows) db.insert(acknowledgements).values(row).onConflictDoUpdate({ target, set: row }).run();
  });
}

/** @returns the number of findings that were acknowledged */
export function deleteAcknowledgements(db: StoreDatabase, findingIds: readonly string[]): number {
  return db.delete(acknowledgements).where(isAmong(acknowledgements.findingId, findingIds)).run().changes;
}

/** IDs of the findings for which no program was started, or only one that failed. */
export function notNotified(db: StoreDatabase, findingIds: readonly string[]): Set<string> {
  const { findingId, notifiedAt } = findings;
  return new Set(textsIn(db, findingId, and(isAmong(findingId, findingIds), isNull(notifiedAt))));
}

/** @param at time in UTC, as in JSON */
export function markNotified(db: StoreDatabase, findingIds: readonly string[], at: string): void {
  db.update(findings).set({ notifiedAt: at }).where(isAmong(findings.findingId, findingIds)).run();
}
