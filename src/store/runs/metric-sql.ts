import { type SQL, sql } from 'drizzle-orm';

import { isOwnMetric, metricDefinition, type MetricId } from '../../records/metric.ts';
import {
  accuracies,
  builds,
  measurements,
  runHints,
  runs,
  runTelemetry,
  runValues,
  timeStatistics,
} from '../schema.ts';

/** What a run printed of a metric, in a statement of several tables, `runs` and `measurements` among them. */
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
      return sql`(select ${timeStatistics[stored.column]} from ${timeStatistics}
        where ${timeStatistics.runId} = ${runs.runId} and ${timeStatistics.metric} = ${stored.of})`;
    case 'builds':
      return sql`(select ${builds[stored.column]} from ${builds} where ${builds.buildId} = ${runs.buildId})`;
    case 'runTelemetry':
      return sql`(select ${runTelemetry[stored.column]} from ${runTelemetry} where ${runTelemetry.runId} = ${runs.runId})`;
    case 'runHints':
      // A cross join is done in this order: few logs have such a line, while a build may have runs of years.
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

/** The centre of the samples of a run, in such a statement. */
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
