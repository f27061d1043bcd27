import type { Environment } from '../../records/environment.ts';
import type { StoreDatabase } from '../file/open.ts';

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
