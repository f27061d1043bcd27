import { cellsOfSweeps, metricNamed } from '../../selection/by-name.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { inLabelOrder } from '../../text/cell-label.ts';
import { UsageError } from '../../errors.ts';
import { reportedChanges, trendMarks } from '../../judge/trend.ts';
import { type MetricId, metricOf } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { checkedSweep, type CheckedSweep, isShownWhole, newFirst } from '../check/index.ts';
import { comparedCells, judgedCells, type Judgements, newestChecked } from './judgements.ts';
import type { EnvironmentChange, MetricTable, ReportCell, ReportData } from './page/report-data.ts';
import { paretoReport } from '../choose/index.ts';
import { listBaselines } from '../../store/sweeps/sweeps.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import { findFindingsByPrefix } from '../../store/sweeps/findings.ts';
import { listSeries, newestOfSeries, seriesUntil } from '../../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import { type Io, yieldToEventLoop } from '../../cli/io.ts';
import type { ReportOptions } from './command.ts';
import { resolveSides, type Side } from '../../selection/sides.ts';
import { forgeOf } from '../../tools/git/forge.ts';
import { originUrl } from '../../tools/git/git.ts';
import { toolVersion } from '../../cli/store-location.ts';
import { leftOutRuns, newestBound, newestSamples, stepsOf, sweepValues } from './cells.ts';
import { cellLayers, layersOfFinding } from './layers.ts';
import { SPARK_SWEEPS } from './page/cell-rows.ts';
import { compareReport, type Comparison, readSides } from '../compare/index.ts';

/** What the table of cells can show in place of the cells' own metric. */
const METRICS: readonly MetricId[] = ['gpuComputeMs', 'latencyMs', 'p99Ms', 'throughputQps'];

interface Shown {
  readonly db: StoreDatabase;
  /** Oldest first. */
  readonly sweeps: readonly Sweep[];
  readonly judge: (metric: MetricId) => Promise<Judgements>;
  readonly io: Io;
}

/** The cells by their own metric, and by each other one that the store has of them. */
async function metricTables({ db, io, judge, sweeps }: Shown, own: MetricTable['cells']): Promise<MetricTable[]> {
  const newest = sweeps.slice(-SPARK_SWEEPS);
  const cells = own.map(({ cell }) => cell);
  const tables: MetricTable[] = [{ cells: own }];
  for (const metric of METRICS.filter((one) => own.some((cell) => cell.metric !== one))) {
    await yieldToEventLoop(io);
    const rows = tableCells(db, newest, cells, metric);
    if (!rows.some(({ values }) => values.some((one) => one !== null))) continue;
    const judgements = await judge(metric);
    tables.push({
      cells: rows.map((row) => ({ ...row, judgement: judgements.get(row.cell.key) ?? { kind: 'values' } })),
    });
  }
  return tables;
}

function tableCells(db: StoreDatabase, sweeps: readonly Sweep[], cells: readonly KeyedCell[], metric: MetricId) {
  return cellHistories(db, sweeps, cells, metric, 'all').map((history) => ({
    cell: history.cell,
    metric,
    values: sweepValues(history, sweeps, []),
    marks: [],
    leftOut: leftOutRuns(history, sweeps),
    boundBy: newestBound(history),
  }));
}

type Chosen = Pick<ReportOptions, 'metric' | 'filter'> & { readonly acrossTensorrt?: true };

/** By the cells' own metric with the causes of its changes; null where no cell of either side passes the filter. */
async function comparerOf(
  db: StoreDatabase,
  sides: { readonly base: Side; readonly head: Side },
  options: Chosen,
): Promise<(metric?: MetricId) => Promise<Comparison | null>> {
  const read = await nullIfRefused(async () => readSides(db, sides, options.filter));
  return (metric) =>
    nullIfRefused(async () => {
      const chosen = metric === undefined ? options : { ...options, metric };
      const { output } = await compareReport(db, sides, chosen, metric === undefined, read ?? undefined);
      return output;
    });
}

async function nullIfRefused<Output>(make: () => Promise<Output>): Promise<Output | null> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}

export type HtmlReportOptions = Pick<ReportOptions, 'db' | 'metric' | 'filter' | 'branch' | 'asOf' | 'last'> & Across;

/** Of two sides: whether TensorRT majors are compared. */
export interface Across {
  readonly acrossTensorrt?: true;
}

export interface PageSides {
  readonly base: string;
  /** Undefined: the checkout, as in `bench compare BASE`. */
  readonly head: string | undefined;
}

/** Two sides, or a sweep as the gate says it. */
export type PageAbout = PageSides | { readonly checked: CheckedSweep };

/** More than a year of nightly sweeps. */
const LAST_SWEEPS = 400;

/** Reads the store only. */
export async function htmlReportData(
  db: StoreDatabase,
  options: HtmlReportOptions,
  io: Io,
  about: PageAbout,
): Promise<ReportData> {
  const named = 'checked' in about ? null : about;
  const sides = named === null ? null : await resolveSides(db, named.base, named.head, io);
  const asOf = sides?.head.sweeps[0]?.sweepId;
  const checked = 'checked' in about ? about.checked : await newestChecked(db, asOf === undefined ? {} : { asOf }, io);
  const { findings, judged, series } = checked;
  const newest = judged.series.sweep;
  const found = seriesUntil(db, newest, Number.MAX_SAFE_INTEGER);
  const sweeps = found.slice(0, options.last ?? LAST_SWEEPS).toReversed();
  const cells = cellsOf(db, sweeps, options.filter);
  await yieldToEventLoop(io);
  const comparer = sides === null ? null : await comparerOf(db, sides, options);
  const compare = (await comparer?.()) ?? null;
  const judge = async (metric: MetricId | null): Promise<Judgements> => {
    if (comparer === null) return judgedCells(checked, metric);
    return comparedCells((metric === null ? compare : await comparer(metric)) ?? { cells: [] });
  };
  const said = await judge(metricNamed(db, options.metric));
  const { reportCells, environments } = await gatherCells(db, cells, sweeps, judged, said, options, io);
  const { provenance, matrix, branch } = newest;
  const keys = new Set(cells.map(({ key }) => key));
  const shown = findings.filter((finding) => finding.cells.some((key) => keys.has(key)));
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const origin = await originUrl(io.cwd);
  return {
    toolVersion: toolVersion(),
    series: { provenance, matrix, branch, olderSweeps: found.length - sweeps.length },
    sweeps,
    cells: reportCells,
    environments,
    environmentChanges: environmentChangesOf(reportCells),
    check: {
      series,
      isStored: shown.every(({ id }) => findFindingsByPrefix(db, id).length > 0),
      findings: newFirst(shown).map((finding) => ({
        ...finding,
        layers: isShownWhole(finding) ? layersOfFinding(db, finding, cells, ids) : null,
      })),
    },
    compare,
    tables: await metricTables({ db, sweeps, judge, io }, reportCells),
    forge: origin === null ? null : forgeOf(origin),
    pareto: await choiceOf(db, newest, options, io),
    others: await otherSeries(db, newest, io),
  };
}

/** Of more series only the names are shown: each is judged for its line. */
const JUDGED_SERIES = 8;

async function otherSeries(
  db: StoreDatabase,
  { branch, matrix, provenance }: Sweep,
  io: Io,
): Promise<ReportData['others']> {
  const others = listSeries(db).filter(
    (other) => other.provenance !== provenance || other.matrix !== matrix || other.branch !== branch,
  );
  const latest = newestOfSeries(db, null);
  const judged: ReportData['others'][number][] = [];
  for (const other of others) {
    const sweep = latest.find(
      (one) => one.provenance === other.provenance && one.matrix === other.matrix && one.branch === other.branch,
    );
    const isJudged = sweep !== undefined && judged.length < JUDGED_SERIES;
    judged.push({ ...other, headline: isJudged ? (await checkedSweep(db, sweep, io)).series.headline : null });
    await yieldToEventLoop(io);
  }
  return judged;
}

/** Cells that some sweep of the series measured or planned. */
function cellsOf(db: StoreDatabase, sweeps: readonly Sweep[], filter: string | undefined): KeyedCell[] {
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const cells = inLabelOrder(cellsOfSweeps(db, ids, filter));
  if (cells.length === 0) {
    throw new UsageError(
      filter === undefined
        ? 'these sweeps have no cell; see `bench ls sweeps` and `bench ls cells`'
        : 'no cell of these sweeps passes the filter; see `bench ls cells`',
    );
  }
  return cells;
}

async function gatherCells(
  db: StoreDatabase,
  cells: readonly KeyedCell[],
  sweeps: readonly Sweep[],
  judged: CheckedSweep['judged'],
  said: Judgements,
  options: HtmlReportOptions,
  io: Io,
) {
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const histories = cellHistories(db, sweeps, cells, metricNamed(db, options.metric), 'all');
  await yieldToEventLoop(io);
  const known = findEnvironments(db, [
    ...new Set(histories.flatMap(({ runs }) => runs.flat().map((run) => run.environmentId))),
  ]);
  const used = histories.flatMap(({ runs }) => runs.flatMap((latest) => latest.at(-1)?.environmentId ?? []));
  const environmentIds = [...new Set(used)].filter((id) => known.has(id));
  const baselines = listBaselines(db);
  const drawn = histories.map((history) => {
    const { cell, metric } = history;
    const values = sweepValues(history, sweeps, environmentIds);
    const { betterIs } = metricOf(metric);
    const reported = reportedChanges(judged.verdict.findings, judged, { cellKey: cell.key, metric });
    const steps = stepsOf(values, sweeps);
    const marks = trendMarks(steps, history.runs.flat(), { betterIs, environments: known, reported, baselines });
    return { cell, metric, values, marks, leftOut: leftOutRuns(history, sweeps), boundBy: newestBound(history) };
  });
  await yieldToEventLoop(io);
  const samples = newestSamples(db, drawn, ids);
  await yieldToEventLoop(io);
  const layers = await cellLayers(db, cells, ids, io);
  const reportCells = drawn.map((one): ReportCell => ({
    ...one,
    judgement: said.get(one.cell.key) ?? { kind: 'values' },
    samples: samples.get(one.cell.key) ?? { sweep: null, before: null, histogram: null, unreadable: 0 },
    ...(layers.get(one.cell.key) ?? { layers: null, diffs: [] }),
  }));
  return { reportCells, environments: environmentIds.flatMap((id) => known.get(id) ?? []) };
}

/** A change in many cells, once. */
function environmentChangesOf(cells: readonly ReportCell[]): EnvironmentChange[] {
  const marks = cells.flatMap((cell) => cell.marks.filter(({ kind }) => kind === 'environment'));
  const groups = Map.groupBy(marks, ({ step, text }) => `${step} ${text}`);
  return [...groups.values()]
    .flatMap((group): EnvironmentChange[] => {
      const [first] = group;
      if (first === undefined) return [];
      const { step: sweep, text, breaksLine } = first;
      return [{ sweep, text, breaksLine, cells: group.length }];
    })
    .toSorted((a, b) => a.sweep - b.sweep || b.cells - a.cells);
}

/** Null where no cell of the sweep has a measurement. */
async function choiceOf(
  db: StoreDatabase,
  sweep: Sweep,
  { filter }: HtmlReportOptions,
  io: Io,
): Promise<ReportData['pareto']> {
  const options = { at: [sweep.sweepId], ...(filter === undefined ? {} : { filter }) };
  const output = await nullIfRefused(async () => (await paretoReport(db, options, io)).output);
  return output === null || output.workloads.length === 0 ? null : output;
}
