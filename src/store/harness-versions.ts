import type { StoreDatabase } from './open.ts';

export interface HarnessVersion {
  readonly harness: string;
  /** Null where the harness did not say it. */
  readonly version: string | null;
}

/** The programs other than trtexec that measured a sweep. */
export function harnessVersionsOf(db: StoreDatabase, sweepId: string): HarnessVersion[] {
  return db.$client
    .prepare<[string], HarnessVersion>(
      `select distinct m.harness as harness, m.harness_version as version
       from runs r join run_methods m on m.run_id = r.run_id
       where r.sweep_id = ? order by 1, 2`,
    )
    .all(sweepId);
}
