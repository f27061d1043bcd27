import type { SweepId } from '../../records/scalars.ts';
import { dataVersion, type StoreDatabase } from '../file/open.ts';
import { readSweepValues } from './read-sweep-values.ts';
import { keptValues, type SweepValues } from './sweep-values.ts';

interface Known {
  /** Of the store, when they were read. */
  readonly state: string;
  readonly values: Map<SweepId, SweepValues>;
}

/** A report looks at the same sweeps a dozen times. */
const knownOf = new WeakMap<StoreDatabase, Known>();

/** What was kept of sweeps, or is read now; read once as long as nobody writes to the store. Call it in a transaction. */
export function sweepValuesOf(db: StoreDatabase, sweepIds: readonly SweepId[]): ReadonlyMap<SweepId, SweepValues> {
  const state = stateOf(db);
  const found = knownOf.get(db);
  const { values } = found?.state === state ? found : { values: new Map<SweepId, SweepValues>() };
  knownOf.set(db, { state, values });
  const unknown = sweepIds.filter((id) => !values.has(id));
  const kept = keptValues(db, unknown);
  const missing = unknown.filter((id) => !kept.has(id));
  for (const [sweepId, read] of [...kept, ...readSweepValues(db, missing)]) values.set(sweepId, read);
  return values;
}

/** Changes with every write of this connection and of others. */
function stateOf(db: StoreDatabase): string {
  const own = db.$client.prepare('SELECT total_changes()').pluck().get();
  return `${dataVersion(db)} ${String(own)}`;
}
