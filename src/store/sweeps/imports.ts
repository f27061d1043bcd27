import { and, eq, isNull, max, or, ne, sql, min } from 'drizzle-orm';
import type { FindingsFile } from '../../records/finding.ts';
import type { RunId, SweepId } from '../../records/scalars.ts';
import { judgedSweeps, findings, acknowledgements } from '../annotations-schema.ts';
import { findCells } from '../cells.ts';
import { textsIn, isAmong, ofSweep } from '../conditions.ts';
import { type StoreDatabase, immediately } from '../file/open.ts';
import { runs, sweepImports } from '../schema.ts';
import { saveFinding } from './findings.ts';
import { findSweep } from './sweeps.ts';

/** Restores findings. Existing rows stay. Omits findings whose sweeps or cells are missing. */
export function restoreFindings(
  db: StoreDatabase,
  { judged, findings: kept, acknowledgements: all }: FindingsFile,
): void {
  const isHere = (sweepId: SweepId): boolean => findSweep(db, sweepId) !== null;
  immediately(db, () => {
    if (judged !== null && isHere(judged.sweepId)) {
      db.insert(judgedSweeps).values(judged).onConflictDoNothing().run();
    }
    const ids = kept.map(({ findingId }) => findingId);
    const here = new Set(textsIn(db, findings.findingId, isAmong(findings.findingId, ids)));
    for (const finding of kept) {
      if (here.has(finding.findingId) || ![finding.firstBadSweepId, finding.reportedSweepId].every(isHere)) continue;
      const stored = finding.cells.filter(({ cellKey }) => findCells(db, [cellKey]).has(cellKey));
      saveFinding(db, { ...finding, cells: stored });
      here.add(finding.findingId);
    }
    const marks = all.filter(({ findingId }) => here.has(findingId));
    for (const mark of marks) db.insert(acknowledgements).values(mark).onConflictDoNothing().run();
  });
}

export function importTimeOf(db: StoreDatabase, sweepId: SweepId): string | null {
  const row = db.select().from(sweepImports).where(eq(sweepImports.sweepId, sweepId)).get();
  return row?.importedAt ?? null;
}

/** A time later than all others, even if several sweeps are imported within a millisecond. */
export function nextImportTime(db: StoreDatabase, now: Date): string {
  const newest = max(sweepImports.importedAt);
  const row = db.select({ newest }).from(sweepImports).get();
  const newestMs = Date.parse(row?.newest ?? '');
  const ms = Number.isNaN(newestMs) ? now.getTime() : Math.max(now.getTime(), newestMs + 1);
  return new Date(ms).toISOString();
}

export function saveImportTime(db: StoreDatabase, sweepId: SweepId, importedAt: string): void {
  db.insert(sweepImports).values({ sweepId, importedAt }).onConflictDoNothing().run();
}

/** Sets the date of a run; false if nothing changed. `instead` replaces an existing date. */
export function redateRun(db: StoreDatabase, runId: RunId, startedAt: string, instead: boolean): boolean {
  const undated = isNull(runs.startedAt);
  const isOther = instead ? or(undated, ne(runs.startedAt, startedAt)) : undated;
  const which = and(eq(runs.runId, runId), isOther);
  return db.update(runs).set({ startedAt }).where(which).run().changes > 0;
}

/** Start and end of the runs of a sweep. */
export function sweepSpan(db: StoreDatabase, sweepId: SweepId) {
  const end = sql<string>`strftime('%Y-%m-%dT%H:%M:%fZ', ${runs.startedAt}, '+' || coalesce(${runs.wallS}, 0) || ' seconds')`;
  const which = and(eq(runs.sweepId, sweepId), ofSweep);
  const span = { startedAt: min(runs.startedAt), finishedAt: max(end) };
  return db.select(span).from(runs).where(which).get() ?? { startedAt: null, finishedAt: null };
}
