import { trendMarks, trendSteps } from '../../judge/trend.ts';
import { valueRule } from '../../judge/value-rule.ts';
import { ensure, type ExitCode } from '../../errors.ts';
import { gateMetric, type MetricId, metricOf, ownMetricNamed } from '../../records/metric.ts';
import { type KeyedCell, aboutCell } from '../../records/cell.ts';
import type { SweepId } from '../../records/scalars.ts';
import { meanLog, percentOfLog } from '../../statistics/special-functions.ts';
import { median } from '../../statistics/order-statistics.ts';
import type { Provenance } from '../../records/sweep.ts';
import { ineligibleFlags } from '../../records/outcome.ts';
import { type CheckedSweep, checkedSweep } from '../check/index.ts';
import { type TrendOutput, type TrendSeries, trendText } from './text.ts';
import { listBaselines } from '../../store/sweeps/sweeps.ts';
import { lastValuedRuns } from '../../store/runs/run-values.ts';
import { allCells } from '../../store/cells.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import {
  newestOfBranch,
  newestProvenance,
  plannedSweeps,
  seriesOf,
  sweepsById,
} from '../../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { chooseCells, namedCells, metricNamed } from '../../selection/by-name.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { nothingStored } from '../../selection/cell-histories.ts';
import type { TrendOptions } from './command.ts';
import { flagsOfRun } from '../../store/runs/run-details.ts';

/** Maximum number of runs in a step, which may contain all repeats of a sweep. */
const RUNS_PER_STEP = 20;
/** With fewer sweeps, each run is a step. */
const ENOUGH_SWEEPS = 8;

export function trend(names: readonly string[], options: TrendOptions, io: Io): Promise<ExitCode> {
  const isApart = options.together !== true;
  ensure(isApart || options.by !== 'run', '--together needs steps that cells share: --by sweep, day or commit');
  ensure(isApart || options.with === undefined, '--with adds a strip below each chart, and --together has no charts');
  return withStore(options, io, async (store) => {
    const newest = newestProvenance(store.db);
    if (newest === null) throw nothingStored(store.db);
    if (options.branch !== undefined && newestOfBranch(store.db, options.branch) === null) {
      throw nothingStored(store.db, options.branch);
    }
    const cells = chooseCells(store.db, namedCells(store.db, allCells(store.db), names), options.filter);
    const { metric, provenance = newest } = options;
    const trendOf = trends(store.db, provenance, options, io);
    const series: TrendSeries[] = [];
    for (const cell of cells) series.push(await trendOf(cell));
    const measured = series.filter(({ points }) => points.length > 0);
    const value = metric === undefined ? '' : ` with ${metric}`;
    const none = `no ${provenance} run of these cells${value} is stored outside of experiments; --provenance names another kind`;
    ensure(measured.length > 0, none);
    const output: TrendOutput = { schemaVersion: 2, provenance, cells: measured };
    const byKey = new Map(cells.map((cell) => [cell.key, cell]));
    return printResult(io, options, output, (_, look) => trendText(output, byKey, options, look));
  });
}

/** Returns the judgment of the newest sweep of a series, given any of its sweeps. Judges each series once. */
function gateOf(db: StoreDatabase, io: Io) {
  const known = new Map<SweepId, Promise<CheckedSweep>>();
  return async (sweepId: SweepId) => {
    const [newest] = sweepsById(db, [sweepId]).flatMap((own) => seriesOf(db, own, 1));
    if (newest === undefined) return null;
    const checked = known.get(newest.sweepId) ?? checkedSweep(db, newest, io);
    known.set(newest.sweepId, checked);
    return (await checked).judged;
  };
}

/** Returns the series of a cell. Statements and judgments are shared by all cells. */
function trends(db: StoreDatabase, provenance: Provenance, options: TrendOptions, io: Io) {
  const { branch, by, last, metric: requested, together, with: stripWord } = options;
  const stripMetric = stripWord === undefined ? undefined : ownMetricNamed(stripWord);
  const gate = gateOf(db, io);
  const planned = plannedSweeps(db, provenance, branch);
  const known = new Map<MetricId, ReturnType<typeof lastValuedRuns>>();
  const runsOf = (metric: MetricId) => {
    const runs = known.get(metric) ?? lastValuedRuns(db, metric, provenance, last * RUNS_PER_STEP, branch);
    known.set(metric, runs);
    return runs;
  };
  return async (cell: KeyedCell): Promise<TrendSeries> => {
    const main = gateMetric(metricNamed(db, requested), cell);
    const ofMain = runsOf(main)(cell.key);
    const swept = planned(cell.key, last);
    // A newer sweep may have no result of the cell.
    const newestRun = ofMain.at(-1);
    const unmeasured = swept.find(({ startedAt }) => (startedAt ?? '') > (newestRun?.startedAt ?? '~'));
    const sweepId = (unmeasured ?? newestRun)?.sweepId;
    const judged = sweepId === undefined ? null : await gate(sweepId);
    // Without --metric, a cell that changed in throughput alone shows it, as in `check`.
    const shown = judged?.verdict.cells.find(({ cellKey }) => cellKey === cell.key)?.metric;
    const metric = requested === undefined && shown === 'throughputQps' ? shown : main;
    const measured = metric === main ? ofMain : runsOf(metric)(cell.key);
    const runs = valued(measured, valueRule(measured, metric));
    const hasFew = new Set(runs.map((run) => run.sweepId)).size < ENOUGH_SWEEPS;
    const step = by ?? (hasFew && together !== true ? 'run' : 'sweep');
    const points = trendSteps(runs, swept, step, last);
    const newest = runs.at(-1);
    const ineligible = ineligibleFlags(newest === undefined ? [] : flagsOfRun(db, newest.runId)).map(({ id }) => id);
    const about = { cellKey: cell.key, metric };
    const environments = findEnvironments(db, [...new Set(runs.map(({ environmentId }) => environmentId))]);
    // A baseline excludes ineligible cells.
    const baselines = ineligible.length === 0 ? listBaselines(db) : [];
    const marks = trendMarks({ about, baselines, environments, judged, runs, steps: points });
    const unjudged = { verdict: null, reason: null, ...lastTwoSweeps(runs) };
    const { verdict, reason, before, now, changePercent } = judged?.verdict.judgedOf(about) ?? unjudged;
    const change = { verdict, reason, before, now, changePercent };
    const series = { ...aboutCell(cell, metric), by: step, points, marks, ...change };
    if (stripMetric === undefined) return { ...series, barred: ineligible };
    const own = new Map(runsOf(stripMetric)(cell.key).map(({ runId, values }) => [runId, values[stripMetric]]));
    const watched = valued(runs, ({ runId }) => own.get(runId) ?? null);
    const strip = trendSteps(watched, [], step, Infinity);
    const byStep = new Map(strip.map(({ id, value }) => [id, value]));
    const values = points.map(({ id }) => byStep.get(id) ?? null);
    const { unit } = metricOf(stripMetric);
    return { ...series, strip: { metric: stripMetric, unit, values }, barred: ineligible };
  };
}

/** The runs that have a value. */
function valued<Run>(runs: readonly Run[], valueOf: (run: Run) => number | null): (Run & { readonly value: number })[] {
  return runs.flatMap((run) => {
    const value = valueOf(run);
    return value === null ? [] : [{ ...run, value }];
  });
}

/** Medians of the newest two sweeps. The change is that of the mean logarithms, as in `bench compare`. */
function lastTwoSweeps(runs: readonly { readonly sweepId: string; readonly value: number }[]) {
  const [now = [], before = []] = [...Map.groupBy(runs, ({ sweepId }) => sweepId).values()]
    .toReversed()
    .map((own) => own.map(({ value }) => value));
  const isKnown = before.length > 0 && [...before, ...now].every((value) => value > 0);
  const changePercent = isKnown ? percentOfLog(meanLog(now) - meanLog(before)) : null;
  return { before: median(before), now: median(now), changePercent };
}
