import { inArray, isNotNull } from 'drizzle-orm';

import type { Environment } from '../../records/environment.ts';
import type { BuildRecord } from '../../records/run.ts';
import type { StoreDatabase } from '../file/open.ts';
import { builds, environments, sweeps } from '../schema.ts';

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

type Row = Pick<Environment, 'driver' | 'gpuUuid' | 'host'>;

/** The machines on which the runs of a sweep were measured so far. */
export function environmentsOf(db: StoreDatabase, sweepId: string): Row[] {
  const statement = db.$client.prepare<[string], Row>(`
    select distinct e.host, e.driver, e.gpu_uuid as gpuUuid
    from runs r join environments e on e.environment_id = r.environment_id
    where r.sweep_id = ? and r.role <> 'build' and r.outcome = 'measured'`);
  return statement.all(sweepId);
}

/** The content of each model that a sweep built engines of, by the model's name. */
export function builtModelsOf(db: StoreDatabase, sweepId: string): Map<string, Set<string>> {
  const statement = db.$client.prepare<[string], { model: string; sha256: string }>(`
    select distinct b.model, b.model_sha256 as sha256
    from runs r join builds b on b.build_id = r.build_id
    where r.sweep_id = ? and r.role = 'build' and b.model_sha256 is not null`);
  const byModel = Map.groupBy(statement.all(sweepId), ({ model }) => model);
  return new Map([...byModel].map(([model, rows]) => [model, new Set(rows.map(({ sha256 }) => sha256))]));
}

/** Every machine that something in the store was measured on. */
export function hostNames(db: StoreDatabase): string[] {
  const rows = [
    ...db.selectDistinct({ host: environments.host }).from(environments).where(isNotNull(environments.host)).all(),
    ...db.selectDistinct({ host: sweeps.host }).from(sweeps).where(isNotNull(sweeps.host)).all(),
  ];
  return [...new Set(rows.flatMap(({ host }) => host ?? []))];
}
