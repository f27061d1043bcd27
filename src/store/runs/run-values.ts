import { and, eq, fillPlaceholders, isNotNull, ne, or, type SQL, sql } from 'drizzle-orm';

import type { BoundBy } from '../../records/bound.ts';
import type { SweepRun, ValueKind } from '../../judge/value-rule.ts';
import { isOwnMetric, METRIC_IDS, metricDefinition, type MetricId } from '../../records/metric.ts';
import type { BuildId, CellKey, RunId, SweepId } from '../../records/scalars.ts';
import type { Provenance } from '../../records/sweep.ts';
import { accuracies } from '../annotations-schema.ts';
import { isAmong, ON } from '../conditions.ts';
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
import { isRepresentative } from '../sweeps/find-sweeps.ts';
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
  const made = { buildId, engineKey, environmentId, smClockMhz, boundBy };
  return db
    .select({ ...about, ...made, inFlight, values: printedValues(metrics), centres: CENTRES })
    .from(runs)
    .innerJoin(sweeps, ON.sweep)
    .leftJoin(runMethods, eq(runMethods.runId, runs.runId))
    .leftJoin(measurements, ON.measurement)
    .leftJoin(runTelemetry, ON.telemetry)
    .leftJoin(builds, ON.build)
    .$dynamic();
}

const isMeasured = and(eq(runs.role, 'timed'), eq(runs.outcome, 'measured'));

/** A measured timed run. Its numbers begin at a place of an array that all runs of the sweep share; 0 for an unknown one. */
export interface MeasuredRun extends Omit<SweepRun, 'value'> {
  readonly numbers: Float64Array;
  readonly at: number;
}

/**
 * Runs by cell key, in the order of the sweeps, with their builds and environments. `valueRule` is like that of judge/,
 * for metrics that were read.
 */
export function measuredRuns(
  db: StoreDatabase,
  sweepIds: readonly SweepId[],
  cellKeys: ReadonlySet<CellKey>,
  metrics: readonly MetricId[],
) {
  const byCell = new Map<CellKey, MeasuredRun[]>([...cellKeys].map((key) => [key, []]));
  const [buildIds, environmentIds] = [new Set<BuildId>(), new Set<string>()];
  const perRun = metrics.filter((metric) => !isOfBuild(metric));
  const perBuild = metrics.filter(isOfBuild);
  const columns: readonly string[] = [...perRun, ...Object.keys(CENTRES), ...perBuild];
  const read = columns.length - perBuild.length;
  db.transaction(() => {
    const flags = flagsOf(db, and(isAmong(runs.sweepId, sweepIds), isMeasured, isJudged));
    const rowsIn = rowsOf(db, perRun);
    for (const sweepId of sweepIds) {
      const rows = rowsIn(sweepId);
      const numbers = new Float64Array(rows.length * columns.length);
      for (const [place, row] of rows.entries()) {
        const own = byCell.get(row[1]);
        if (own === undefined) continue;
        const at = place * columns.length;
        for (let column = 0; column < read; column += 1) numbers[at + column] = Number(row[FACTS + column]);
        // Most runs of a cell share these texts, so that one copy of each is kept.
        const last = own.at(-1);
        const cellKey = last?.cellKey ?? row[1];
        const buildId = row[2] === last?.buildId ? last.buildId : row[2];
        const environmentId = row[3] === last?.environmentId ? last.environmentId : row[3];
        if (buildId !== null && buildId !== last?.buildId) buildIds.add(buildId);
        if (environmentId !== last?.environmentId) environmentIds.add(environmentId);
        const about = { runId: row[0], sweepId, cellKey, buildId, environmentId, smClockMhz: row[4], boundBy: row[5] };
        own.push({ ...about, flags: flags.get(row[0]) ?? NO_FLAGS, numbers, at });
      }
    }
    if (perBuild.length === 0) return;
    const of = { id: builds.buildId, values: printedValues(perBuild) };
    const rows = db.select(of).from(builds).where(isAmong(of.id, buildIds)).all();
    const ofBuilds = new Map(rows.map(({ id, values }) => [id, perBuild.map((metric) => values[metric] ?? 0)]));
    for (const { at, buildId, numbers } of [...byCell.values()].flat())
      numbers.set(ofBuilds.get(buildId ?? '') ?? [], at + read);
  });
  const valueRule = (own: readonly MeasuredRun[], metric: MetricId, kind?: ValueKind) => {
    const [printed, centre] = [columns.indexOf(metric), columns.lastIndexOf(metric)];
    const printedIn = ({ at, numbers }: MeasuredRun): number => numbers[at + printed] ?? 0;
    const centreIn = ({ at, numbers }: MeasuredRun): number => (centre === printed ? 0 : (numbers[at + centre] ?? 0));
    const isKept = (run: MeasuredRun): boolean => centreIn(run) > 0 || !(printedIn(run) > 0);
    return (kind === undefined ? own.every(isKept) : kind === 'centres') ? centreIn : printedIn;
  };
  return { byCell, buildIds, environmentIds, valueRule };
}

const NO_FLAGS: MeasuredRun['flags'] = [];

const FACTS = 6;
type Facts = [RunId, CellKey, BuildId | null, string, number | null, BoundBy | null];

/** Reads rows without drizzle, which would take longer to decode half a million rows than SQLite to read them. */
function rowsOf(db: StoreDatabase, metrics: readonly MetricId[]) {
  const { runId, cellKey, buildId, environmentId } = runs;
  const [{ smClockMhz }, { boundBy }] = [runTelemetry, measurements];
  const about = { runId, cellKey, buildId, environmentId, smClockMhz, boundBy };
  const { params, sql: text } = db
    .select({ ...about, values: printedValues(metrics), centres: CENTRES })
    .from(runs)
    .leftJoin(measurements, ON.measurement)
    .leftJoin(runTelemetry, ON.telemetry)
    .where(and(eq(runs.sweepId, sql.placeholder('sweepId')), isMeasured, isNotNull(cellKey)))
    .toSQL();
  const statement = db.$client.prepare<unknown[], [...Facts, ...(number | null)[]]>(text).raw();
  return (sweepId: SweepId) => statement.all(...fillPlaceholders(params, { sweepId }));
}

function printedValues(metrics: readonly MetricId[]): Record<string, SQL<number | null>> {
  return Object.fromEntries(metrics.map((metric) => [metric, printedValue(metric)]));
}

/** Flags that decide whether a run counts. */
const isJudged = or(
  ne(runFlags.effect, 'explained'),
  eq(runFlags.flag, 'powerLimited'),
  eq(runFlags.flag, 'contended'),
);

const CACHE_KIB = 100_000;

const isNoCapture = sql`NOT EXISTS (SELECT 1 FROM ${runFlags} f WHERE f.run_id = ${runs.runId} AND f.flag = 'capture')`;

/** The last measured timed runs of a cell with a metric, oldest first, without captures and experiments. */
export function lastValuedRuns(
  db: StoreDatabase,
  metric: MetricId,
  provenance: Provenance,
  limit: number,
  branch: string | undefined,
) {
  // The runs of a cell are spread over the whole file; a large cache reads each page once for all cells.
  db.$client.pragma(`cache_size = -${CACHE_KIB}`);
  const ofBranch = branch === undefined ? isRepresentative : eq(sweeps.branch, branch);
  const ofCell = and(eq(runs.cellKey, sql.placeholder('cellKey')), eq(runs.provenance, provenance));
  const own = and(ofCell, isMeasured, isNoCapture, ofBranch);
  const newest = runValues(db, [metric]).where(own).orderBy(newestRunFirst).limit(limit).prepare();
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

/** Whether all runs of a build have the same value, which is then read once. */
function isOfBuild(metric: MetricId): boolean {
  return isOwnMetric(metric) && ['builds', 'accuracies'].includes(metricDefinition(metric).stored.table);
}

/** Like `printedValue`, for the center of the samples of a run. */
const CENTRES = Object.fromEntries(
  METRIC_IDS.flatMap((metric) => {
    const { centre } = metricDefinition(metric);
    return centre === undefined ? [] : [[metric, sql<number | null>`${measurements[centre]}`] as const];
  }),
);
