import { and, eq, isNotNull, ne, or, type SQL, sql } from 'drizzle-orm';

import type { NightRun, MetricValue } from '../../judge/value-rule.ts';
import { isOwnMetric, metricDefinition, type MetricId } from '../../records/metric.ts';
import type { StoreDatabase } from '../file/open.ts';
import { builds, measurements, runFlags, runHints, runs, runTelemetry, runValues, timeStatistics } from '../schema.ts';
import { accuracies } from '../annotations-schema.ts';
import type { CellKey, RunId, SweepId } from '../../records/scalars.ts';

export interface MetricRun extends Omit<NightRun, 'value'>, MetricValue {
  readonly runId: RunId;
}

/** In the order of the sweeps. One statement for all: the gate reads tens of thousands of rows. */
export function metricRuns(
  db: StoreDatabase,
  sweepIds: readonly SweepId[],
  cellKeys: readonly CellKey[],
  metric: MetricId,
): MetricRun[] {
  const rows = db
    .select({
      runId: runs.runId,
      cellKey: runs.cellKey,
      sweepId: runs.sweepId,
      buildId: runs.buildId,
      environmentId: runs.environmentId,
      printed: printedValue(metric),
      centre: centreValue(metric),
    })
    .from(eachOf(sweepIds))
    .innerJoin(runs, eq(runs.sweepId, EACH))
    .leftJoin(measurements, eq(measurements.runId, runs.runId))
    .where(and(eq(runs.role, 'timed'), eq(runs.outcome, 'measured'), isCellAmong(cellKeys)))
    .all();
  const ids = rows.map(({ runId }) => runId).toSorted();
  const clocks = clocksOf(db, ids);
  const flags = flagsOfMeasured(db, ids);
  return rows.flatMap(({ runId, cellKey, ...row }) => {
    const fitness = { smClockMhz: clocks.get(runId) ?? null, flags: flags.get(runId) ?? NO_FLAGS };
    return cellKey === null ? [] : [{ ...row, runId, cellKey, ...fitness }];
  });
}

/** A table to join with: keeps this order, and is faster than joins on random ids all over a table. */
function eachOf(ids: readonly string[]): SQL {
  return sql`json_each(${JSON.stringify(ids)}) as each`;
}

const EACH = sql`each.value`;

/** Runs of some cells in a few sweeps: bypasses the index of cells, which leads to all sweeps of a cell. */
export function isCellAmong(cellKeys: readonly CellKey[]): SQL {
  return sql`+${runs.cellKey} in (select value from json_each(${JSON.stringify(cellKeys)}))`;
}

const NO_FLAGS: MetricRun['flags'] = [];

/** @param runIds in order: three times as fast */
function clocksOf(db: StoreDatabase, runIds: readonly RunId[]): Map<string, number | null> {
  const rows = db
    .select({ runId: runTelemetry.runId, smClockMhz: runTelemetry.smClockMhz })
    .from(eachOf(runIds))
    .innerJoin(runTelemetry, eq(runTelemetry.runId, EACH))
    .where(isNotNull(runTelemetry.smClockMhz))
    .all();
  return new Map(rows.map(({ runId, smClockMhz }) => [runId, smClockMhz]));
}

function flagsOfMeasured(db: StoreDatabase, runIds: readonly RunId[]): Map<string, MetricRun['flags']> {
  const rows = db
    .select({ runId: runFlags.runId, id: runFlags.flag, effect: runFlags.effect })
    .from(eachOf(runIds))
    .innerJoin(runFlags, eq(runFlags.runId, EACH))
    .where(or(ne(runFlags.effect, 'explained'), eq(runFlags.flag, 'powerLimited')))
    .all();
  return Map.groupBy(rows, ({ runId }) => runId);
}

/** SQL for a run's printed value of a metric; for statements with `runs` and `measurements` among their tables. */
export function printedValue(metric: MetricId): SQL<number | null> {
  if (!isOwnMetric(metric)) {
    return sql`(select ${runValues.value} from ${runValues}
      where ${runValues.runId} = ${runs.runId} and ${runValues.metric} = ${metric})`;
  }
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
    case 'runHints':
      // A cross join fixes the join order: few logs have such a line, while a build may have years of runs.
      return stored.of === 'run'
        ? sql`(select ${runHints.value} from ${runHints}
            where ${runHints.runId} = ${runs.runId} and ${runHints.hint} = ${stored.hint})`
        : sql`(select ${runHints.value} from ${runHints} cross join ${runs} built on built.run_id = ${runHints.runId}
            where ${runHints.hint} = ${stored.hint} and built.build_id = ${runs.buildId} limit 1)`;
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
