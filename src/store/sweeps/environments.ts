import { inArray } from 'drizzle-orm';

import type { Environment } from '../../records/environment.ts';
import type { BuildRecord } from '../../records/run.ts';
import type { StoreDatabase } from '../file/open.ts';
import { builds, environments } from '../schema.ts';

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
