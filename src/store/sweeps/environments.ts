import { and, count, eq, isNotNull, max, ne, sql } from 'drizzle-orm';

import type { Environment } from '../../records/environment.ts';
import { isAmong, isAmongOrAny, ofSweep, ON, textsIn } from '../conditions.ts';
import type { StoreDatabase } from '../file/open.ts';
import { builds, environments, runs, sweeps } from '../schema.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';

export function findEnvironments(db: StoreDatabase, ids: readonly string[]): Map<string, Environment> {
  const rows = db.select().from(environments).where(isAmong(environments.environmentId, ids)).all();
  return new Map(rows.map(({ environmentId, ...environment }) => [environmentId, environment]));
}

export function findBuilds(db: StoreDatabase, ids: readonly string[]) {
  const rows = db.select().from(builds).where(isAmong(builds.buildId, ids)).all();
  return new Map(rows.map(({ buildId, ...build }) => [buildId, build]));
}

export function environmentsOf(db: StoreDatabase, sweepId: SweepId) {
  const { host, driver, gpuUuid } = environments;
  const which = and(eq(runs.sweepId, sweepId), ne(runs.role, 'build'), ofSweep, eq(runs.outcome, 'measured'));
  const measured = db.selectDistinct({ host, driver, gpuUuid }).from(runs).where(which);
  return measured.innerJoin(environments, ON.environment).all();
}

/** Number of timed runs of some sweeps by environment. @param cellKeys null for all */
export function runsByEnvironment(
  db: StoreDatabase,
  sweepIds: readonly SweepId[],
  cellKeys: readonly CellKey[] | null,
) {
  const { cellKey, environmentId, outcome, role, startedAt, sweepId } = runs;
  const measured = sql<number>`sum(${outcome} = 'measured')`;
  const which = and(isAmong(sweepId, sweepIds), eq(role, 'timed'), isAmongOrAny(cellKey, cellKeys));
  const columns = { sweepId, environmentId, lastAt: max(startedAt), measured, runs: count() };
  return db.select(columns).from(runs).where(which).groupBy(sweepId, environmentId).all();
}

/** The environments of the runs of a sweep. */
export function sweepEnvironments(db: StoreDatabase, sweepId: SweepId): Environment[] {
  const ids = textsIn(db, runs.environmentId, and(eq(runs.sweepId, sweepId), ofSweep));
  return [...findEnvironments(db, ids).values()];
}

export function builtModelsOf(db: StoreDatabase, sweepId: SweepId): Map<string, Set<string>> {
  const { model: name, modelSha256 } = builds;
  const which = and(eq(runs.sweepId, sweepId), eq(runs.role, 'build'), isNotNull(modelSha256));
  const built = db.selectDistinct({ model: name, sha256: modelSha256 }).from(runs).where(which);
  const rows = built.innerJoin(builds, ON.build).all();
  const byModel = Map.groupBy(rows, ({ model }) => model);
  return new Map([...byModel].map(([model, own]) => [model, new Set(own.flatMap(({ sha256 }) => sha256 ?? []))]));
}

export function hostNames(db: StoreDatabase): string[] {
  return [...new Set([environments.host, sweeps.host].flatMap((column) => textsIn(db, column)))];
}
