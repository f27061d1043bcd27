import { and, countDistinct, eq, max, ne, sql } from 'drizzle-orm';

import { type Provenance, PROVENANCES } from '../../records/sweep.ts';
import { isAmong, ofSweep, ON } from '../conditions.ts';
import type { StoreDatabase } from '../file/open.ts';
import { runFlags, runs, sweeps } from '../schema.ts';
import { printable, shortList } from '../../text/printable.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';

const measuredRuns = sql<number>`sum(${runs.outcome} = 'measured' and ${runs.role} <> 'build')`;
/** A given file has no key. For an import, only the engines of its builds are known. */
const engines = sql<number>`count(distinct case
  when ${runs.role} = 'build' then iif(${runs.outcome} in ('built', 'measured'), coalesce(${runs.buildId}, ${runs.runId}), null)
  when ${runs.engineKey} is not null and ${sweeps.source} = 'run' then ${runs.buildId} end)`;

const flagged = sql<number>`sum(exists (select 1 from ${runFlags}
  where ${runFlags.runId} = ${runs.runId} and ${runFlags.effect} <> 'explained'))`;

export const NO_SWEEP_NUMBERS = { cells: 0, runs: 0, measured: 0, builds: 0, built: 0, engines: 0, flagged: 0 };

export type SweepNumbers = Readonly<typeof NO_SWEEP_NUMBERS>;

/**
 * Numbers of each sweep: cells, runs (without builds), builds and engines, built in it or before. `flagged` counts runs
 * that are left out or trusted less.
 */
export function sweepNumbers(db: StoreDatabase, sweepIds: readonly SweepId[]): ReadonlyMap<SweepId, SweepNumbers> {
  const which = and(isAmong(runs.sweepId, sweepIds), ofSweep);
  const rows = db
    .select({
      sweepId: runs.sweepId,
      cells: countDistinct(runs.cellKey),
      runs: sql<number>`sum(${runs.role} <> 'build')`,
      measured: measuredRuns,
      builds: sql<number>`sum(${runs.role} = 'build')`,
      // Stores of older versions have `measured` for a build.
      built: sql<number>`sum(${runs.outcome} in ('built', 'measured') and ${runs.role} = 'build')`,
      engines,
      flagged,
    })
    .from(runs)
    .innerJoin(sweeps, ON.sweep)
    .where(which)
    .groupBy(runs.sweepId)
    .all();
  return new Map(rows.map(({ sweepId: id, ...numbers }) => [id, numbers]));
}

/** Numbers for `runsAndEngines`, as in a plan: an engine counts as built regardless of the sweep. */
export function withReused({ runs: all, measured, builds, built, engines: used }: SweepNumbers) {
  return { runs: all, measured, builds: used + builds - built, built: used };
}

/** What was said of imported numbers (`bench import --note`), and of measured ones: by their matrix, and of a conversion. */
export function sweepNotes(db: StoreDatabase, sweepIds: readonly SweepId[]): string[] {
  const lineOf = (what: string, provenance: Provenance, most?: number): string[] => {
    const which = and(
      isAmong(runs.sweepId, sweepIds),
      ofSweep,
      eq(runs.provenance, provenance),
      ne(runs.role, 'build'),
    );
    const rows = db.selectDistinct({ notes: runs.notes }).from(runs).where(which).all();
    // Those of one run together, because they describe each other.
    const ofRuns = rows.map((row) => row.notes.slice(0, most).map(printable).join(', '));
    const notes = [...new Set(ofRuns.filter((text) => text !== ''))];
    return notes.length === 0 ? [] : [`${what}: ${shortList(notes, 12, '; ')}`];
  };
  // Notes of bench on the files of an imported run come after the stated one.
  return [...lineOf('note of the import', 'imported', 1), ...lineOf('note', 'measured')];
}

/** The number of measurements of each cell, the time of the last one, and the kinds of its results; omits cells without runs. */
export function cellNumbers(db: StoreDatabase, cellKeys: readonly CellKey[]) {
  const rows = db
    .select({
      cellKey: runs.cellKey,
      measured: measuredRuns,
      sweeps: countDistinct(runs.sweepId),
      lastAt: max(runs.startedAt),
      provenances: sql<string>`group_concat(distinct ${runs.provenance})`,
    })
    .from(runs)
    .where(and(isAmong(runs.cellKey, cellKeys), ofSweep))
    .groupBy(runs.cellKey)
    .all();
  return new Map(
    rows.map(({ cellKey, provenances, ...numbers }) => {
      const names = provenances.split(',');
      return [cellKey, { ...numbers, provenances: PROVENANCES.filter((name) => names.includes(name)) }];
    }),
  );
}
