import { and, eq, type SQL, sql } from 'drizzle-orm';

import { isOwnMetric, metricDefinition, type MetricId } from '../../records/metric.ts';
import type { StoreDatabase } from '../file/open.ts';
import { builds, measurements, runHints, runs, runTelemetry, runValues, timeStatistics } from '../schema.ts';
import { accuracies } from '../annotations-schema.ts';
import type { CellKey, RunId, SweepId } from '../../records/scalars.ts';

/** The printed values of a metric, of measured timed runs. */
export function metricValues(
  db: StoreDatabase,
  sweepIds: readonly SweepId[],
  cellKeys: readonly CellKey[],
  metric: MetricId,
): Map<RunId, number> {
  const rows = db
    .select({ runId: runs.runId, value: printedValue(metric) })
    .from(sql`json_each(${JSON.stringify(sweepIds)}) as each`)
    .innerJoin(runs, eq(runs.sweepId, sql`each.value`))
    .leftJoin(measurements, eq(measurements.runId, runs.runId))
    .where(and(eq(runs.role, 'timed'), eq(runs.outcome, 'measured'), isCellAmong(cellKeys)))
    .all();
  return new Map(rows.flatMap(({ runId, value }): [RunId, number][] => (value === null ? [] : [[runId, value]])));
}

/** Runs of some cells in a few sweeps: bypasses the index of cells, which leads to all sweeps of a cell. */
export function isCellAmong(cellKeys: readonly CellKey[]): SQL {
  return sql`+${runs.cellKey} in (select value from json_each(${JSON.stringify(cellKeys)}))`;
}

/** SQL for a run's printed value of a metric; for statements with `runs` and `measurements` among their tables. */
export function printedValue(metric: MetricId): SQL<number | null> {
  const ofHarness = () =>
    sql<number | null>`(select ${runValues.value} from ${runValues}
      where ${runValues.runId} = ${runs.runId} and ${runValues.metric} = ${metric})`;
  if (!isOwnMetric(metric)) return ofHarness();
  const { stored } = metricDefinition(metric);
  switch (stored.table) {
    case 'measurements':
      return sql`${measurements[stored.column]}`;
    case 'timeStatistics':
      return statisticOf(stored.of, stored.column);
    case 'builds':
      return sql`(select ${builds[stored.column]} from ${builds} where ${builds.buildId} = ${runs.buildId})`;
    case 'runTelemetry':
      return sql`(select ${runTelemetry[stored.column]} from ${runTelemetry} where ${runTelemetry.runId} = ${runs.runId})`;
    case 'energy':
      return sql`(select 1000 * ${runTelemetry.powerW} / nullif(${measurements[stored.over]}, 0) from ${runTelemetry}
        where ${runTelemetry.runId} = ${runs.runId})`;
    case 'runHints':
      // A cross join fixes the join order: few logs have such a line, while a build may have years of runs.
      return stored.of === 'run'
        ? sql`(select ${runHints.value} from ${runHints}
            where ${runHints.runId} = ${runs.runId} and ${runHints.hint} = ${stored.hint})`
        : sql`(select ${runHints.value} from ${runHints} cross join ${runs} built on built.run_id = ${runHints.runId}
            where ${runHints.hint} = ${stored.hint} and built.build_id = ${runs.buildId} limit 1)`;
    case 'runValues':
      return ofHarness();
    case 'accuracies':
      return sql`(select 100 * ${accuracies.relativeError}
        from ${builds} join ${accuracies} on ${accuracies.variantSha256} = ${builds.modelSha256}
        where ${builds.buildId} = ${runs.buildId} order by ${accuracies.measuredAt} desc limit 1)`;
  }
}

/** A number of one line of the performance summary, in such a statement. */
export function statisticOf(line: string, column: 'meanMs' | 'medianMs' | 'p99Ms'): SQL<number | null> {
  return sql`(select ${timeStatistics[column]} from ${timeStatistics}
    where ${timeStatistics.runId} = ${runs.runId} and ${timeStatistics.metric} = ${line})`;
}

/** As `printedValue`, for the center of a run's samples. */
export function centreValue(metric: MetricId): SQL<number | null> {
  const column = centreOf(metric);
  return column === undefined ? sql`null` : sql`${measurements[column]}`;
}

export function hasCentre(metric: MetricId): boolean {
  return centreOf(metric) !== undefined;
}

function centreOf(metric: MetricId) {
  return isOwnMetric(metric) ? metricDefinition(metric).centre : undefined;
}
