import { inArray } from 'drizzle-orm';

import type { Environment } from '../../records/environment.ts';
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

export interface StoredBuild {
  readonly modelSha256: string | null;
  readonly flags: readonly string[];
}

export function findBuilds(db: StoreDatabase, ids: readonly string[]): Map<string, StoredBuild> {
  const rows = db
    .select({ buildId: builds.buildId, modelSha256: builds.modelSha256, flags: builds.flags })
    .from(builds)
    .where(inArray(builds.buildId, [...ids]))
    .all();
  return new Map(rows.map(({ buildId, ...build }) => [buildId, build]));
}
