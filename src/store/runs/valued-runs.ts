import { and, desc, eq, gte, isNotNull, isNull, or, type SQL, sql } from 'drizzle-orm';

import type { MetricId } from '../../records/metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import type { Provenance } from '../../records/sweep.ts';
import type { StoreDatabase } from '../file/open.ts';
import { measurements, runs, sweeps } from '../schema.ts';
import { newestRunFirst } from '../sweeps/sweep-order.ts';
import { centreValue, hasCentre, printedValue } from './metric-runs.ts';

const CACHE_KIB = 100_000;

export type ValuedRun = ReturnType<ReturnType<typeof lastValuedRuns>>[number];

/** Of a cell the last measured timed runs with a metric, oldest first. */
export function lastValuedRuns(
  db: StoreDatabase,
  metric: MetricId,
  provenance: Provenance,
  limit: number,
  branch: string | undefined,
) {
  // The runs of a cell lie all over the file: each page of it is read once for all cells.
  db.$client.pragma(`cache_size = -${CACHE_KIB}`);
  const isOfCell = and(
    eq(runs.cellKey, sql.placeholder('cellKey')),
    eq(runs.role, 'timed'),
    eq(runs.outcome, 'measured'),
    eq(runs.provenance, provenance),
    branch === undefined ? undefined : eq(sweeps.branch, branch),
  );
  // Years of runs are not sorted: an index has their dates in order.
  const oldest = db
    .select({ startedAt: runs.startedAt })
    .from(runs)
    .innerJoin(sweeps, eq(sweeps.sweepId, runs.sweepId))
    .where(and(isOfCell, isNotNull(runs.startedAt)))
    .orderBy(desc(runs.startedAt))
    .limit(1)
    .offset(limit - 1)
    .prepare();
  const newest = (printed: SQL<number | null>) =>
    db
      .select({
        runId: runs.runId,
        sweepId: runs.sweepId,
        startedAt: runs.startedAt,
        commit: sweeps.commit,
        dirty: sweeps.dirty,
        environmentId: runs.environmentId,
        boundBy: measurements.boundBy,
        printed,
        centre: centreValue(metric),
      })
      .from(runs)
      .innerJoin(sweeps, eq(sweeps.sweepId, runs.sweepId))
      .leftJoin(measurements, eq(measurements.runId, runs.runId))
      .where(and(isOfCell, or(isNull(runs.startedAt), gte(runs.startedAt, sql.placeholder('since')))))
      .orderBy(newestRunFirst)
      .limit(limit)
      .prepare();
  const [withCentres, whole] = [newest(sql`null`), newest(printedValue(metric))];
  return (cellKey: CellKey) => {
    const since = oldest.get({ cellKey })?.startedAt ?? '';
    // Printed values, in another table, matter only where a run has no center.
    const own = hasCentre(metric) ? withCentres.all({ cellKey, since }) : [];
    const isWhole = own.length > 0 && own.every(({ centre }) => centre !== null && centre > 0);
    return (isWhole ? own : whole.all({ cellKey, since })).toReversed();
  };
}
