import { and, count, eq, inArray, isNotNull, isNull, lte, ne, not, notInArray, or, type SQL, sql } from 'drizzle-orm';

import type { CellKey, SweepId } from '../../records/scalars.ts';
import { AB_BRANCH, DOCTOR_BRANCH, OFF_BRANCHES, type Provenance, type Sweep } from '../../records/sweep.ts';
import { baselines } from '../annotations-schema.ts';
import { equalOrNull, gpuModelOf, isAmong, isOnGpuOf, textsIn } from '../conditions.ts';
import type { StoreDatabase } from '../file/open.ts';
import { runs, sweeps } from '../schema.ts';
import { gateOf, sweepColumns } from './sweeps.ts';
import { newestSweepFirst, notAfter } from './sweep-order.ts';

const ended = ne(sweeps.state, 'running');
const isFinished = eq(sweeps.state, 'finished');
/** Excludes A/B experiments, which do not represent their commit. */
const isNoExperiment = or(isNull(sweeps.branch), ne(sweeps.branch, AB_BRANCH));

/** Condition for a run that was measured alone, and for its times. */
export const FIT_RUN = `r.role = 'timed' AND r.outcome = 'measured' AND NOT EXISTS (SELECT 1 FROM run_flags f
  WHERE f.run_id = r.run_id AND f.flag IN ('contended', 'capture'))`;

/** 1 for a sweep of captures alone, which are never compared. */
const isCapture = sql`(${sweeps.sweepId} IN
  (SELECT r.sweep_id FROM run_flags f JOIN runs r USING (run_id) WHERE f.flag = 'capture')
  AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.sweep_id = ${sweeps.sweepId} AND r.role = 'timed'
    AND NOT EXISTS (SELECT 1 FROM run_flags f WHERE f.run_id = r.run_id AND f.flag = 'capture')))`;

function select(db: StoreDatabase, where: SQL | undefined, limit: number, ...first: readonly SQL[]): Sweep[] {
  const found = db.select(sweepColumns).from(sweeps).where(and(ended, where));
  return found
    .orderBy(...first, newestSweepFirst)
    .limit(limit)
    .all();
}

/**
 * A sweep of captures alone counts only if there is no other.
 * @param branch null for imports without a branch
 * @param like restricts the search to its matrix and provenance
 */
export function newestOfBranch(db: StoreDatabase, branch: string | null, like: Sweep | null = null): Sweep | null {
  return sweepsOfBranch(db, branch, like, 1)[0] ?? null;
}

/** Newest first, after all of them the captures. */
export function sweepsOfBranch(db: StoreDatabase, branch: string | null, like: Sweep | null, limit: number): Sweep[] {
  return finishedLike(db, equalOrNull(sweeps.branch, branch), like, limit, isCapture);
}

/**
 * The newest finished sweep that meets a condition, without experiments, bisections and comparisons.
 * @param branch null for any
 */
export function newestDone(
  db: StoreDatabase,
  like: Sweep | null,
  branch: string | null,
  isWanted: (sweep: Sweep) => boolean = () => true,
): Sweep | null {
  const which = branch === null ? isRepresentative : equalOrNull(sweeps.branch, branch);
  return finishedLike(db, which, like, MAX_OTHERS, isCapture).find(isWanted) ?? null;
}

/** Those of some sweeps that are not captures alone; all of them if all are. */
export function notCaptures(db: StoreDatabase, some: readonly Sweep[]): readonly Sweep[] {
  const ids = some.map(({ sweepId }) => sweepId);
  const measured = select(db, and(isAmong(sweeps.sweepId, ids), not(isCapture)), ids.length);
  return measured.length > 0 ? measured : some;
}

/** Finished sweeps, newest first, including health checks but not experiments, bisections and comparisons. */
export function sweepsOfMachines(db: StoreDatabase): Sweep[] {
  return finishedLike(db, or(isRepresentative, eq(sweeps.branch, DOCTOR_BRANCH)), null, MAX_OTHERS);
}

/** Names of branches whose sweeps belong to no series: bisections, comparisons and health checks. */
const offBranches = OFF_BRANCHES.flatMap((branch) => branch ?? []);
const isOnBranch = or(isNull(sweeps.branch), notInArray(sweeps.branch, offBranches));
export const isRepresentative = and(isNoExperiment, isOnBranch);

function finishedLike(db: StoreDatabase, which: SQL | undefined, like: Sweep | null, limit: number, ...first: SQL[]) {
  const isLike = like === null ? isFinished : ofMatrices([like.matrix], like.provenance);
  return select(db, and(isLike, which), limit, ...first);
}

/**
 * Sweeps with the branch, matrix, provenance and GPU model of this one, newest first, after all of them the captures.
 */
export function seriesOf(db: StoreDatabase, sweep: Sweep, limit: number): Sweep[] {
  return select(db, inSeriesOf(sweep), limit, isCapture);
}

/** @param matrices the current and former names of its matrix */
export function seriesUntil(
  db: StoreDatabase,
  sweep: Sweep,
  limit: number,
  matrices: readonly (string | null)[] = [sweep.matrix],
): Sweep[] {
  return select(db, and(inSeriesOf(sweep, matrices), notAfter(sweep.sweepId)), limit);
}

/** The sweeps of the same series before and after a sweep, without it; nearest first. */
export function seriesAround(db: StoreDatabase, sweep: Sweep) {
  const series = inSeriesOf(sweep, matricesSince(db, sweep));
  const after = select(db, and(series, not(notAfter(sweep.sweepId))), NO_LIMIT).toReversed();
  const before = select(db, and(series, notAfter(sweep.sweepId), ne(sweeps.sweepId, sweep.sweepId)), NO_LIMIT);
  return { before, after };
}

const NO_LIMIT = -1;

/** The later names of its matrix, according to the matrices themselves. */
function matricesSince(db: StoreDatabase, sweep: Sweep): (string | null)[] {
  const { branch, matrix, provenance } = sweep;
  if (matrix === null) return [matrix];
  const others = newestOfSeries(db, null).filter((one) => one.branch === branch && one.provenance === provenance);
  const renamed = others.filter((one) => gateOf(db, one.sweepId).renamedFrom === matrix);
  return [matrix, ...renamed.map((one) => one.matrix)];
}

function inSeriesOf(sweep: Sweep, matrices: readonly (string | null)[] = [sweep.matrix]) {
  const isOfBranch = and(ofMatrices(matrices, sweep.provenance), equalOrNull(sweeps.branch, sweep.branch));
  return and(isOfBranch, isOnGpuOf(sweep.sweepId, sweeps.sweepId));
}

function ofMatrices(matrices: readonly (string | null)[], provenance: Provenance): SQL | undefined {
  const isOfOne = or(...matrices.map((matrix) => equalOrNull(sweeps.matrix, matrix)));
  return and(isFinished, isOfOne, eq(sweeps.provenance, provenance));
}

/**
 * The newest finished sweep of each series, newest first; without the series of experiments and bisections. With
 * `until` (UTC), undated ones are excluded.
 */
export function newestOfSeries(db: StoreDatabase, until: string | null): Sweep[] {
  const dated = until === null ? undefined : lte(sweeps.startedAt, until);
  const all = select(db, and(isFinished, isRepresentative, dated), NO_LIMIT, isCapture);
  const gpus = gpuModels(db, all);
  const bySeries = Map.groupBy(all, ({ branch, matrix, provenance, sweepId }) =>
    JSON.stringify([branch, matrix, provenance, gpus.get(sweepId)]),
  );
  const newest = [...bySeries.values()].flatMap(([first]) => first?.sweepId ?? []);
  return sweepsById(db, newest);
}

/** The GPU model by sweep; null if unknown. */
export function gpuModels(db: StoreDatabase, some: readonly Sweep[]): Map<SweepId, string | null> {
  const ids = some.map(({ sweepId }) => sweepId);
  // drizzle names no table in the columns of a statement with one table.
  const columns = { sweepId: sweeps.sweepId, gpu: gpuModelOf(sql.raw('"sweeps"."sweep_id"')) };
  const rows = db.select(columns).from(sweeps).where(isAmong(sweeps.sweepId, ids)).all();
  return new Map(rows.map(({ gpu, sweepId }) => [sweepId, gpu]));
}

export function onOtherBranches(
  db: StoreDatabase,
  { branch, provenance }: Pick<Sweep, 'branch' | 'provenance'>,
  matrices: readonly (string | null)[],
): Sweep[] {
  const isOther = and(isNotNull(sweeps.branch), branch === null ? undefined : ne(sweeps.branch, branch));
  const which = and(ofMatrices(matrices, provenance), isOther, isNoExperiment, notInArray(sweeps.branch, offBranches));
  return select(db, which, MAX_OTHERS);
}

/** Enough to find the branch from which another one began. */
const MAX_OTHERS = 2000;

export function sweepsUntil(db: StoreDatabase, sweepIds: readonly SweepId[], sweep: Sweep): Set<string> {
  const which = and(isAmong(sweeps.sweepId, sweepIds), notAfter(sweep.sweepId));
  return new Set(select(db, which, sweepIds.length).map(({ sweepId }) => sweepId));
}

export function sweepsAtCommit(db: StoreDatabase, commit: string): Sweep[] {
  return select(db, and(eq(sweeps.commit, commit), isNoExperiment), 1000);
}

export function sweepsNamed(db: StoreDatabase, name: string): Sweep[] {
  return select(db, eq(sweeps.name, name), 10);
}

export function sweepsById(db: StoreDatabase, sweepIds: readonly SweepId[]): Sweep[] {
  return select(db, isAmong(sweeps.sweepId, sweepIds), sweepIds.length);
}

export function measuredCommits(db: StoreDatabase): Set<string> {
  return new Set(textsIn(db, sweeps.commit, and(ended, isNoExperiment)));
}

export function listSweeps(db: StoreDatabase, limit: number): Sweep[] {
  return db.select(sweepColumns).from(sweeps).orderBy(newestSweepFirst).limit(limit).all();
}

export function countSweeps(db: StoreDatabase): number {
  return db.select({ sweeps: count() }).from(sweeps).get()?.sweeps ?? 0;
}

export function countFinishedSweeps(db: StoreDatabase): number {
  return db.select({ sweeps: count() }).from(sweeps).where(isFinished).get()?.sweeps ?? 0;
}

export function newestOfMatrix(db: StoreDatabase, matrix: string): Sweep | null {
  return select(db, and(isFinished, eq(sweeps.matrix, matrix)), 1)[0] ?? null;
}

export function newestProvenance(db: StoreDatabase): Provenance | null {
  return select(db, undefined, 1)[0]?.provenance ?? null;
}

/** Returns the newest sweeps that planned a cell, newest first, with or without a result. `provenance` null for any. */
export function plannedSweeps(db: StoreDatabase, provenance: Provenance | null, branch?: string) {
  // Sort once for all cells.
  const isOfBranch = branch === undefined ? isRepresentative : eq(sweeps.branch, branch);
  const which = and(provenance === null ? undefined : eq(sweeps.provenance, provenance), isOfBranch);
  const all = select(db, which, NO_LIMIT);
  const planned = db.$client.prepare<[SweepId, CellKey]>(
    'SELECT 1 FROM sweep_cells WHERE sweep_id = ? AND cell_key = ?',
  );
  return (cellKey: CellKey, limit: number): Sweep[] => {
    const newest: Sweep[] = [];
    for (const sweep of all) {
      if (newest.length === limit) break;
      if (planned.get(sweep.sweepId, cellKey) !== undefined) newest.push(sweep);
    }
    return newest;
  };
}

export function sweepsOfCell(db: StoreDatabase, cellKey: CellKey, limit: number): Sweep[] {
  const which = and(eq(runs.cellKey, cellKey), eq(runs.role, 'timed'));
  const withRuns = db.selectDistinct({ sweepId: runs.sweepId }).from(runs).where(which);
  return select(db, inArray(sweeps.sweepId, withRuns), limit);
}

export function baselineSweep(db: StoreDatabase, name: string): string | null {
  return db.select().from(baselines).where(eq(baselines.name, name)).get()?.sweepId ?? null;
}

export function baselinesOf(db: StoreDatabase, sweepId: SweepId): string[] {
  const rows = db.select().from(baselines).where(eq(baselines.sweepId, sweepId)).orderBy(baselines.name).all();
  return rows.map(({ name }) => name);
}
