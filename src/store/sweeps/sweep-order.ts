import { type SQL, sql } from 'drizzle-orm';

import type { SweepId } from '../../records/scalars.ts';

/** The time of a sweep; without a date its import time. `sweep` is the name of the table `sweeps` in the statement. */
function sweepTimeSql(sweep: string): string {
  return `coalesce("${sweep}"."started_at", ${importedAtSql(sweep)}, '')`;
}

/** The import time of a sweep, which also orders sweeps with equal dates. */
function importedAtSql(sweep: string): string {
  return `(select i.imported_at from sweep_imports i where i.sweep_id = "${sweep}"."sweep_id")`;
}

export const NEWEST_FIRST = `${sweepTimeSql('sweeps')} desc, ${importedAtSql('sweeps')} desc, "sweeps"."sweep_id" desc`;

export const newestSweepFirst: SQL = sql.raw(NEWEST_FIRST);

/**
 * Order with the newest run first, for statements that join `runs` and `sweeps`. A run without a date has the time of
 * its sweep.
 */
export const newestRunFirst: SQL = sql.raw(
  `coalesce("runs"."started_at", ${sweepTimeSql('sweeps')}) desc, ${NEWEST_FIRST}, "runs"."repeat" desc, "runs"."run_id" desc`,
);

export function notAfter(sweepId: SweepId): SQL {
  const [here, there] = ['sweeps', 'other'].map((name) =>
    sql.raw(`${sweepTimeSql(name)}, coalesce(${importedAtSql(name)}, ''), "${name}"."sweep_id"`),
  );
  return sql`(${here}) <= (select ${there} from sweeps as other where other.sweep_id = ${sweepId})`;
}
