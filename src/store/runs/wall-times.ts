import type { StoreDatabase } from '../file/open.ts';

interface Row {
  readonly cellKey: string;
  readonly wallS: number;
}

/** Seconds that the measured timed runs of some sweeps took, from the start of the process to its end, by cell. */
export function wallTimesOf(db: StoreDatabase, sweepIds: readonly string[]): Map<string, readonly number[]> {
  const statement = db.$client.prepare<[string], Row>(`
    select r.cell_key as cellKey, r.wall_s as wallS
    from json_each(?) as s
    join runs r on r.sweep_id = s.value
    where r.role = 'timed' and r.outcome = 'measured' and r.cell_key is not null and r.wall_s > 0`);
  const byCell = Map.groupBy(statement.all(JSON.stringify(sweepIds)), ({ cellKey }) => cellKey);
  return new Map([...byCell].map(([key, rows]) => [key, rows.map(({ wallS }) => wallS)]));
}
