import { and, eq, isNotNull, ne, or, type SQL, sql } from 'drizzle-orm';

import type { BoundBy } from '../../records/bound.ts';
import type { SweepRun } from '../../judge/value-rule.ts';
import { isOwnMetric, METRIC_IDS, metricDefinition, type MetricId } from '../../records/metric.ts';
import type { CellRun } from '../../records/run.ts';
import type { BuildId, CellKey, RunId, SweepId } from '../../records/scalars.ts';
import type { Provenance } from '../../records/sweep.ts';
import { accuracies } from '../annotations-schema.ts';
import { ON } from '../conditions.ts';
import type { StoreDatabase } from '../file/open.ts';
import {
  builds,
  measurements,
  runFlags,
  runHints,
  runMethods,
  runs,
  runTelemetry,
  runValues as harnessValues,
  sweeps,
  timeStatistics,
} from '../schema.ts';
import { newestRunFirst } from '../sweeps/sweep-order.ts';
import { flagsOf } from './run-details.ts';

/**
 * Query for runs with the values of some metrics: printed ones and, if the metric has one, the center of the samples.
 */
export function runValues(db: StoreDatabase, metrics: readonly MetricId[]) {
  const { runId, sweepId, cellKey, role, repeat, startedAt, wallS, outcome, reason } = runs;
  const { buildId, engineKey, environmentId } = runs;
  const { boundBy, queries } = measurements;
  const { commit, dirty } = sweeps;
  const [{ smClockMhz }, { inFlight }] = [runTelemetry, runMethods];
  const about = { runId, sweepId, cellKey, role, repeat, startedAt, wallS, queries, commit, dirty, outcome, reason };
  const values = sqlByMetric(metrics, printedValue);
  const made = { buildId, engineKey, environmentId, smClockMhz, boundBy };
  return db
    .select({ ...about, ...made, inFlight, values, centres: CENTRES })
    .from(runs)
    .innerJoin(sweeps, ON.sweep)
    .leftJoin(runMethods, eq(runMethods.runId, runs.runId))
    .leftJoin(measurements, ON.measurement)
    .leftJoin(runTelemetry, ON.telemetry)
    .leftJoin(builds, ON.build)
    .$dynamic();
}

const isMeasured = and(eq(runs.role, 'timed'), eq(runs.outcome, 'measured'));

/** A measured timed run with the values of the requested metrics. */
export type MeasuredRun = Omit<SweepRun, 'value'> & {
  readonly values: Readonly<Partial<Record<MetricId, number | null>>>;
  readonly centres: CellRun['centres'];
};

/** Runs by cell key, in the order of the sweeps. */
export function measuredRuns(
  db: StoreDatabase,
  sweepIds: readonly SweepId[],
  cellKeys: ReadonlySet<CellKey>,
  metrics: readonly MetricId[],
): Map<CellKey, MeasuredRun[]> {
  const byCell = new Map<CellKey, MeasuredRun[]>([...cellKeys].map((key) => [key, []]));
  db.transaction(() => {
    for (const sweepId of sweepIds) {
      const which = and(eq(runs.sweepId, sweepId), isMeasured);
      const flags = flagsOf(db, and(which, isJudged));
      const rows = rowsOf(db, metrics, which);
      for (const [runId, cellKey, buildId, environmentId, smClockMhz, boundBy, ...numbers] of rows) {
        const [values, centres] = [valuesIn(numbers, metrics, 0), valuesIn(numbers, CENTRED, metrics.length)];
        const run = { runId, sweepId, cellKey, buildId, environmentId, smClockMhz, boundBy, values, centres };
        byCell.get(cellKey)?.push({ ...run, flags: flags.get(runId) ?? NO_FLAGS });
      }
    }
  });
  return byCell;
}

const NO_FLAGS: MeasuredRun['flags'] = [];

type Numbers = readonly (number | null)[];
type MeasuredRow = [RunId, CellKey, BuildId | null, string, number | null, BoundBy | null, ...Numbers];

/** Reads rows without drizzle, which would take longer to decode half a million rows than SQLite to read them. */
function rowsOf(db: StoreDatabase, metrics: readonly MetricId[], which: SQL | undefined): MeasuredRow[] {
  const { runId, cellKey, buildId, environmentId } = runs;
  const [{ smClockMhz }, { boundBy }] = [runTelemetry, measurements];
  const about = { runId, cellKey, buildId, environmentId, smClockMhz, boundBy };
  const { params, sql: text } = db
    .select({ ...about, values: sqlByMetric(metrics, printedValue), centres: CENTRES })
    .from(runs)
    .leftJoin(measurements, ON.measurement)
    .leftJoin(runTelemetry, ON.telemetry)
    .leftJoin(builds, ON.build)
    .where(and(which, isNotNull(cellKey)))
    .toSQL();
  const statement = db.$client.prepare<unknown[], MeasuredRow>(text);
  return statement.raw().all(...params);
}

function valuesIn(numbers: Numbers, metrics: readonly MetricId[], from: number): MeasuredRun['values'] {
  const values: Partial<Record<MetricId, number | null>> = {};
  for (const [place, metric] of metrics.entries()) values[metric] = numbers[from + place] ?? null;
  return values;
}

function sqlByMetric(metrics: readonly MetricId[], of: (metric: MetricId) => SQL<number | null>) {
  const values: Record<string, SQL<number | null>> = {};
  for (const metric of metrics) values[metric] = of(metric);
  return values;
}

/** Flags that decide whether a run counts. */
const isJudged = or(
  ne(runFlags.effect, 'explained'),
  eq(runFlags.flag, 'powerLimited'),
  eq(runFlags.flag, 'contended'),
);

const CACHE_KIB = 100_000;

/** The last measured timed runs of a cell with a metric, oldest first. */
export function lastValuedRuns(
  db: StoreDatabase,
  metric: MetricId,
  provenance: Provenance,
  limit: number,
  branch: string | undefined,
) {
  // The runs of a cell are spread over the whole file; a large cache reads each page once for all cells.
  db.$client.pragma(`cache_size = -${CACHE_KIB}`);
  const ofBranch = branch === undefined ? undefined : eq(sweeps.branch, branch);
  const ofCell = and(
    eq(runs.cellKey, sql.placeholder('cellKey')),
    isMeasured,
    eq(runs.provenance, provenance),
    ofBranch,
  );
  const newest = runValues(db, [metric]).where(ofCell).orderBy(newestRunFirst).limit(limit).prepare();
  return (cellKey: CellKey) => newest.all({ cellKey }).toReversed();
}

/** SQL for the printed value of a metric of a run, in statements with the tables that `runValues` joins. */
function printedValue(metric: MetricId): SQL<number | null> {
  const ofHarness = () =>
    sql<number | null>`(select ${harnessValues.value} from ${harnessValues}
      where ${harnessValues.runId} = ${runs.runId} and ${harnessValues.metric} = ${metric})`;
  if (!isOwnMetric(metric)) return ofHarness();
  const { stored } = metricDefinition(metric);
  switch (stored.table) {
    case 'measurements':
      return sql`${measurements[stored.column]}`;
    case 'timeStatistics':
      return statisticOf(stored.of, stored.column);
    case 'builds':
      return sql`${builds[stored.column]}`;
    case 'runTelemetry':
      return sql`${runTelemetry[stored.column]}`;
    case 'energy':
      return sql`1000 * ${runTelemetry.powerW} / nullif(${measurements[stored.over]}, 0)`;
    case 'runHints':
      // A cross join fixes the join order, because few logs have such a line while a build may have years of runs.
      return stored.of === 'run'
        ? sql`(select ${runHints.value} from ${runHints}
            where ${runHints.runId} = ${runs.runId} and ${runHints.hint} = ${stored.hint})`
        : sql`(select ${runHints.value} from ${runHints} cross join ${runs} built on built.run_id = ${runHints.runId}
            where ${runHints.hint} = ${stored.hint} and built.build_id = ${runs.buildId} limit 1)`;
    case 'runValues':
      return ofHarness();
    case 'accuracies':
      return sql`(select 100 * ${accuracies.relativeError} from ${accuracies}
        where ${accuracies.variantSha256} = ${builds.modelSha256} order by ${accuracies.measuredAt} desc limit 1)`;
  }
}

/** SQL for a number of one line of the performance summary, in the same statements; p99 as trtexec printed it. */
export function statisticOf(line: string, column: 'meanMs' | 'medianMs' | 'p99Ms'): SQL<number | null> {
  const value =
    column === 'p99Ms' ? sql`json_extract(${timeStatistics.percentiles}, '$."99"')` : sql`${timeStatistics[column]}`;
  return sql`(select ${value} from ${timeStatistics}
    where ${timeStatistics.runId} = ${runs.runId} and ${timeStatistics.metric} = ${line})`;
}

/** Like `printedValue`, for the center of the samples of a run. */
function centreValue(metric: MetricId): SQL<number | null> {
  const column = centreOf(metric);
  return column === undefined ? sql`null` : sql`${measurements[column]}`;
}

function centreOf(metric: MetricId) {
  return isOwnMetric(metric) ? metricDefinition(metric).centre : undefined;
}

const CENTRED = METRIC_IDS.filter((id) => centreOf(id) !== undefined);
const CENTRES = sqlByMetric(CENTRED, centreValue);
