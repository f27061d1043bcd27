import { and, desc, eq, getTableColumns, inArray, like, or, type SQL, sql, isNull } from 'drizzle-orm';
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core';

import type { Acknowledgement, Finding, JudgedSweep } from '../../records/finding.ts';
import type { SweepId } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import { findCells } from '../cells.ts';
import { immediately, type StoreDatabase } from '../file/open.ts';
import { acknowledgements, findingCells, findings, judgedSweeps } from '../annotations-schema.ts';
import { sweeps } from '../schema.ts';
import { equalOrNull } from './sweep-order.ts';

/** @param series its matrix may have had other names before; ordered by id */
export function findingsOf(
  db: StoreDatabase,
  series: Pick<Sweep, 'branch' | 'provenance'> & { readonly matrices: readonly (string | null)[] },
): Finding[] {
  const { branch, matrix, provenance } = findings;
  const ofMatrix = or(...series.matrices.map((name) => equalOrNull(matrix, name)));
  return select(db, and(ofMatrix, equalOrNull(branch, series.branch), eq(provenance, series.provenance)));
}

/** Newest reports first. */
export function listFindings(db: StoreDatabase, limit: number): Finding[] {
  const newest = db
    .select({ findingId: findings.findingId })
    .from(findings)
    .orderBy(desc(sql`${findings}.rowid`))
    .limit(limit)
    .all()
    .map(({ findingId }) => findingId);
  const found = new Map(select(db, isAmong(findings.findingId, newest)).map((finding) => [finding.findingId, finding]));
  return newest.flatMap((findingId) => found.get(findingId) ?? []);
}

export function findFindingsByPrefix(db: StoreDatabase, prefix: string): Finding[] {
  if (!/^[0-9a-f]{1,32}$/.test(prefix)) return [];
  const ids = db
    .select({ findingId: findings.findingId })
    .from(findings)
    .where(like(findings.findingId, `${prefix}%`));
  return select(db, inArray(findings.findingId, ids.limit(3)));
}

/** What is slower and not over. */
export function lastingFindings(db: StoreDatabase): Finding[] {
  const { direction, state } = findings;
  return select(db, and(eq(direction, 'slower'), eq(state, 'open')));
}

/** Those that were reported in these sweeps. */
export function findingsReportedIn(db: StoreDatabase, sweepIds: readonly SweepId[]): Finding[] {
  return select(db, isAmong(findings.reportedSweepId, sweepIds));
}

/** Those of which a sweep is the first or last bad one, the last good one, or the one that reported them. */
export function findingsNaming(db: StoreDatabase, sweepId: SweepId): Finding[] {
  const { firstBadSweepId, lastBadSweepId, lastGoodSweepId, reportedSweepId } = findings;
  const named = [firstBadSweepId, lastBadSweepId, lastGoodSweepId, reportedSweepId];
  return select(db, or(...named.map((column) => eq(column, sweepId))));
}

/** Without what only `notified.ts` is about. */
const { notifiedAt: _, ...findingColumns } = getTableColumns(findings);

function select(db: StoreDatabase, which: SQL | undefined): Finding[] {
  const rows = db.select(findingColumns).from(findings).where(which).orderBy(findings.findingId).all();
  const ids = rows.map(({ findingId }) => findingId);
  const changed = db
    .select()
    .from(findingCells)
    .where(isAmong(findingCells.findingId, ids))
    .orderBy(findingCells.findingId, sql`${findingCells}.rowid`)
    .all();
  const ofFinding = Map.groupBy(changed, ({ findingId }) => findingId);
  return rows.map((row) => ({
    ...row,
    cells: (ofFinding.get(row.findingId) ?? []).map(({ findingId: _of, ...cell }) => cell),
  }));
}

/** One parameter, however many ids. */
export function isAmong(column: SQLiteColumn, ids: readonly string[]): SQL {
  return sql`${column} in (select value from json_each(${JSON.stringify(ids)}))`;
}

/** What the gate says of one sweep, and of what was reported before. */
export interface StoredVerdict {
  readonly judged: JudgedSweep;
  readonly findings: readonly Finding[];
  /** Findings that an earlier look at the same sweep reported, and this one does not. */
  readonly retracted: readonly string[];
  /** Findings that are acknowledged no longer. */
  readonly endedAcknowledgements: readonly string[];
}

/** In one transaction. */
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
  db.insert(findings).values(finding).onConflictDoUpdate({ target: findings.findingId, set: finding }).run();
  db.delete(findingCells).where(eq(findingCells.findingId, finding.findingId)).run();
  const { findingId } = finding;
  for (const cell of changed)
    db.insert(findingCells)
      .values({ ...cell, findingId })
      .run();
}

/** Those of some sweeps that the gate judged, by their ids. */
export function judgedAmong(db: StoreDatabase, sweepIds: readonly SweepId[]): Map<string, JudgedSweep> {
  const rows = db.select().from(judgedSweeps).where(isAmong(judgedSweeps.sweepId, sweepIds)).all();
  return new Map(rows.map((row) => [row.sweepId, row]));
}

export function acknowledgementsOf(db: StoreDatabase, findingIds: readonly string[]): Map<string, Acknowledgement> {
  const rows = db.select().from(acknowledgements).where(isAmong(acknowledgements.findingId, findingIds)).all();
  return new Map(rows.map((row) => [row.findingId, row]));
}

/** All or none of them. */
export function acknowledge(db: StoreDatabase, rows: readonly Acknowledgement[]): void {
  const target = acknowledgements.findingId;
  immediately(db, () => {
    for (const row of rows) db.insert(acknowledgements).values(row).onConflictDoUpdate({ target, set: row }).run();
  });
}

/** @returns how many of them were acknowledged */
export function deleteAcknowledgements(db: StoreDatabase, findingIds: readonly string[]): number {
  return db.delete(acknowledgements).where(isAmong(acknowledgements.findingId, findingIds)).run().changes;
}

/** What an artefact folder says of its sweep; rows that are here stay, and findings of sweeps or cells that are not here are left out. */
export function restoreFindings(
  db: StoreDatabase,
  from: {
    readonly judged: JudgedSweep | null;
    readonly findings: readonly Finding[];
    readonly acknowledgements: readonly Acknowledgement[];
  },
): void {
  immediately(db, () => {
    const { judged } = from;
    if (judged !== null && areHere(db, [judged.sweepId])) {
      db.insert(judgedSweeps).values(judged).onConflictDoNothing().run();
    }
    const ids = from.findings.map(({ findingId }) => findingId);
    const known = db.select({ id: findings.findingId }).from(findings).where(isAmong(findings.findingId, ids)).all();
    const here = new Set(known.map(({ id }) => id));
    for (const finding of from.findings) {
      if (here.has(finding.findingId) || !areHere(db, [finding.firstBadSweepId, finding.reportedSweepId])) continue;
      const stored = finding.cells.filter(({ cellKey }) => findCells(db, [cellKey]).has(cellKey));
      saveFinding(db, { ...finding, cells: stored });
      here.add(finding.findingId);
    }
    const marks = from.acknowledgements.filter(({ findingId }) => here.has(findingId));
    for (const mark of marks) db.insert(acknowledgements).values(mark).onConflictDoNothing().run();
  });
}

function areHere(db: StoreDatabase, sweepIds: readonly SweepId[]): boolean {
  const ids = new Set(sweepIds);
  const rows = db
    .select({ id: sweeps.sweepId })
    .from(sweeps)
    .where(isAmong(sweeps.sweepId, [...ids]))
    .all();
  return rows.length === ids.size;
}

/** Those of some findings that no program was started for, or only one that failed. */
export function notNotified(db: StoreDatabase, findingIds: readonly string[]): Set<string> {
  const { findingId, notifiedAt } = findings;
  const which = and(isAmong(findingId, findingIds), isNull(notifiedAt));
  const rows = db.select({ findingId }).from(findings).where(which).all();
  return new Set(rows.map((row) => row.findingId));
}

/** @param at as in JSON: an instant in UTC */
export function markNotified(db: StoreDatabase, findingIds: readonly string[], at: string): void {
  db.update(findings).set({ notifiedAt: at }).where(isAmong(findings.findingId, findingIds)).run();
}
