import type { StoreDatabase } from '../file/open.ts';

export interface RunEffort {
  /** Seconds from the start of the process to its end. */
  readonly wallS: number | null;
  readonly queries: number | null;
}

/** How long runs took and how many queries they timed, by run id. */
export function runEfforts(db: StoreDatabase, sweepIds: readonly string[]): Map<string, RunEffort> {
  const rows = db.$client
    .prepare<[string], RunEffort & { readonly runId: string }>(
      `select r.run_id as runId, r.wall_s as wallS, m.queries
       from json_each(?) as s
       join runs r on r.sweep_id = s.value
       left join measurements m using (run_id)`,
    )
    .all(JSON.stringify(sweepIds));
  return new Map(rows.map(({ runId, ...effort }) => [runId, effort]));
}
