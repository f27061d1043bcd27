import { and, count, eq, inArray, isNotNull, max, ne, sql } from 'drizzle-orm';

import type { Environment } from '../../records/environment.ts';
import type { BuildRecord } from '../../records/run.ts';
import type { StoreDatabase } from '../file/open.ts';
import { ofSweep } from '../runs/runs.ts';
import { builds, environments, runs, sweeps } from '../schema.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';

export function findEnvironments(db: StoreDatabase, ids: readonly string[]): Map<string, Environment> {
  const rows = db
    .select()
    .from(environments)
    .where(inArray(environments.environmentId, [...ids]))
    .all();
  return new Map(rows.map(({ environmentId, ...environment }) => [environmentId, environment]));
}

export function findBuilds(db: StoreDatabase, ids: readonly string[]): Map<string, BuildRecord> {
  const rows = db
    .select({ buildId: builds.buildId, model: builds.model, modelSha256: builds.modelSha256, flags: builds.flags })
    .from(builds)
    .where(inArray(builds.buildId, [...ids]))
    .all();
  return new Map(rows.map(({ buildId, ...build }) => [buildId, build]));
}

export function environmentsOf(db: StoreDatabase, sweepId: SweepId) {
  const { host, driver, gpuUuid } = environments;
  return db
    .selectDistinct({ host, driver, gpuUuid })
    .from(runs)
    .innerJoin(environments, eq(environments.environmentId, runs.environmentId))
    .where(and(eq(runs.sweepId, sweepId), ne(runs.role, 'build'), ofSweep, eq(runs.outcome, 'measured')))
    .all();
}

/** Number of timed runs of some sweeps by environment. @param cellKeys null for all */
export function runsByEnvironment(
  db: StoreDatabase,
  sweepIds: readonly SweepId[],
  cellKeys: readonly CellKey[] | null,
) {
  const { cellKey, environmentId, outcome, role, startedAt, sweepId } = runs;
  const measured = sql<number>`sum(${outcome} = 'measured')`;
  const isWanted = cellKeys === null ? undefined : inArray(cellKey, [...cellKeys]);
  return db
    .select({ sweepId, environmentId, lastAt: max(startedAt), measured, runs: count() })
    .from(runs)
    .where(and(inArray(sweepId, [...sweepIds]), eq(role, 'timed'), isWanted))
    .groupBy(sweepId, environmentId)
    .all();
}

/** Returns the environments of the runs of a sweep, in order of appearance. */
export function sweepEnvironments(db: StoreDatabase): (sweepId: SweepId) => Environment[] {
  const known = new Map<string, Environment>();
  const ids = db.$client
    .prepare<[SweepId], string>("SELECT DISTINCT environment_id FROM runs WHERE sweep_id = ? AND role <> 'pair'")
    .pluck();
  return (sweepId) => {
    const own = ids.all(sweepId);
    const others = own.filter((one) => !known.has(one));
    for (const [id, found] of findEnvironments(db, others)) known.set(id, found);
    return own.flatMap((id) => known.get(id) ?? []);
  };
}

export function builtModelsOf(db: StoreDatabase, sweepId: SweepId): Map<string, Set<string>> {
  const rows = db
    .selectDistinct({ model: builds.model, sha256: builds.modelSha256 })
    .from(runs)
    .innerJoin(builds, eq(builds.buildId, runs.buildId))
    .where(and(eq(runs.sweepId, sweepId), eq(runs.role, 'build'), isNotNull(builds.modelSha256)))
    .all();
  const byModel = Map.groupBy(rows, ({ model }) => model);
  return new Map([...byModel].map(([model, own]) => [model, new Set(own.flatMap(({ sha256 }) => sha256 ?? []))]));
}

export function hostNames(db: StoreDatabase): string[] {
  const rows = [
    ...db.selectDistinct({ host: environments.host }).from(environments).where(isNotNull(environments.host)).all(),
    ...db.selectDistinct({ host: sweeps.host }).from(sweeps).where(isNotNull(sweeps.host)).all(),
  ];
  return [...new Set(rows.flatMap(({ host }) => host ?? []))];
}
