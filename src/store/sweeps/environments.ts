import { inArray } from 'drizzle-orm';

import type { Environment } from '../../records/environment.ts';
import type { BuildRecord } from '../../records/run.ts';
import { columnOf, rowsOf, type StoreDatabase } from '../file/open.ts';
import { builds, environments } from '../schema.ts';
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

export function environmentsOf(
  db: StoreDatabase,
  sweepId: SweepId,
): Pick<Environment, 'host' | 'driver' | 'gpuUuid'>[] {
  return rowsOf(
    db,
    `SELECT DISTINCT e.host, e.driver, e.gpu_uuid AS gpuUuid FROM runs r JOIN environments e USING (environment_id)
     WHERE r.sweep_id = ? AND r.role NOT IN ('build', 'pair') AND r.outcome = 'measured'`,
    sweepId,
  );
}

/** Number of timed runs of some sweeps by environment. @param cellKeys null for all */
export function runsByEnvironment(
  db: StoreDatabase,
  sweepIds: readonly SweepId[],
  cellKeys: readonly CellKey[] | null,
): { sweepId: SweepId; environmentId: string; lastAt: string | null; measured: number; runs: number }[] {
  return rowsOf(
    db,
    `SELECT sweep_id AS sweepId, environment_id AS environmentId, max(started_at) AS lastAt,
            sum(outcome = 'measured') AS measured, count(*) AS runs
     FROM runs WHERE sweep_id IN (SELECT value FROM json_each(@sweepIds)) AND role = 'timed'
       AND (@cellKeys = 'null' OR cell_key IN (SELECT value FROM json_each(@cellKeys)))
     GROUP BY sweep_id, environment_id`,
    { sweepIds: JSON.stringify(sweepIds), cellKeys: JSON.stringify(cellKeys) },
  );
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
  const rows = rowsOf<{ model: string; sha256: string }>(
    db,
    `SELECT DISTINCT b.model, b.model_sha256 AS sha256 FROM runs r JOIN builds b USING (build_id)
     WHERE r.sweep_id = ? AND r.role = 'build' AND b.model_sha256 IS NOT NULL`,
    sweepId,
  );
  const byModel = Map.groupBy(rows, ({ model }) => model);
  return new Map([...byModel].map(([model, own]) => [model, new Set(own.map(({ sha256 }) => sha256))]));
}

export function hostNames(db: StoreDatabase): string[] {
  const hosts = ['environments', 'sweeps'].map((table) => `SELECT host FROM ${table} WHERE host IS NOT NULL`);
  return columnOf(db, hosts.join(' UNION '));
}
