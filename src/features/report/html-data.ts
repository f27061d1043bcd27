import { cellsOfSweeps, metricNamed } from '../../selection/by-name.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { inLabelOrder } from '../../records/cell-label.ts';
import { UsageError } from '../../errors.ts';
import { reportedChanges, trendMarks } from '../../judge/trend.ts';
import { metricOf } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { type CheckedSweep, isShownWhole, newFirst } from '../check/index.ts';
import { comparedCells, judgedCells, type Judgements, newestChecked } from './judgements.ts';
import type { EnvironmentChange, ReportCell, ReportData } from './page/report-data.ts';
import { paretoReport } from '../choose/index.ts';
import { listBaselines } from '../../store/sweeps/sweeps.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import { findFindingsByPrefix } from '../../store/sweeps/findings.ts';
import { listSeries, seriesUntil } from '../../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import { type Io, yieldToEventLoop } from '../../cli/io.ts';
import type { ReportOptions } from './command.ts';
import { resolveSides } from '../../selection/sides.ts';
import { forgeOf, originUrl } from '../../tools/git/git.ts';
import { toolVersion } from '../../cli/store-location.ts';
import { cellLayers, layersOfFinding } from './layers.ts';
import { compareReport } from '../compare/index.ts';
import { usualBound } from '../../judge/bound.ts';
import type { CellSweeps } from '../../judge/gate/fit-runs.ts';
import type { SweepRun } from '../../judge/value-rule.ts';
import type { BoundBy } from '../../records/bound.ts';
import { type CellSamples, type LeftOut, type SweepColumns, histogramOf } from '../../html/page-data.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import { runSamples } from '../../store/runs/show-run.ts';
import type { SweepId } from '../../records/scalars.ts';

export type HtmlReportOptions = Pick<ReportOptions, 'db' | 'metric' | 'filter' | 'branch' | 'asOf' | 'last'> & Across;

/** Option for two sides: whether to compare different TensorRT major versions. */
export interface Across {
  readonly acrossTensorrt?: true;
}

export interface PageSides {
  readonly base: string;
  /** Undefined for the checkout, as in `bench compare BASE`. */
  readonly head: string | undefined;
}

/** Two sides, or a sweep that the gate judged. */
export type PageAbout = PageSides | { readonly checked: CheckedSweep };

/** Maximum number of sweeps in a report: more than a year of nightly ones. */
const LAST_SWEEPS = 400;

/** Gathers the data of the HTML report; reads the store only. */
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
  const compare = sides === null ? null : (await compareReport(db, sides, options)).output;
  const said = compare === null ? judgedCells(checked, metricNamed(db, options.metric)) : comparedCells(compare);
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
    forge: origin === null ? null : forgeOf(origin),
    pareto: await choiceOf(db, newest, options, io),
    others: listSeries(db).filter(
      (other) => other.provenance !== provenance || other.matrix !== matrix || other.branch !== branch,
    ),
  };
}

/** Cells that any sweep of the series measured or planned. */
function cellsOf(db: StoreDatabase, sweeps: readonly Sweep[], filter: string | undefined): KeyedCell[] {
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const cells = inLabelOrder(cellsOfSweeps(db, ids, filter));
  if (cells.length === 0) {
    throw new UsageError(
      filter === undefined
        ? 'these sweeps have no cell; see `bench ls sweeps` and `bench ls cells`'
        : 'no cell of these sweeps matches the filter; see `bench ls cells`',
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
    const columns = sweepColumns(history, sweeps, environmentIds);
    const { betterIs } = metricOf(metric);
    const reported = reportedChanges(judged.verdict.findings, judged, { cellKey: cell.key, metric });
    const steps = sweeps.map(({ sweepId }, sweep) => ({ sweepId, value: columns.values[sweep] ?? null }));
    const marks = trendMarks(steps, history.runs.flat(), { betterIs, environments: known, reported, baselines });
    return { cell, metric, ...columns, marks, leftOut: leftOutRuns(history, sweeps), boundBy: newestBound(history) };
  });
  await yieldToEventLoop(io);
  const samples = newestSamples(db, drawn, ids);
  await yieldToEventLoop(io);
  const layers = cellLayers(db, cells, ids);
  const reportCells = drawn.map((one): ReportCell => ({
    ...one,
    judgement: said.get(one.cell.key) ?? { kind: 'values' },
    samples: samples.get(one.cell.key) ?? { sweep: null, before: null, histogram: null },
    layers: layers.get(one.cell.key) ?? null,
  }));
  return { reportCells, environments: environmentIds.flatMap((id) => known.get(id) ?? []) };
}

/** Environment changes, each once even if it is in many cells. */
function environmentChangesOf(cells: readonly ReportCell[]): EnvironmentChange[] {
  const marks = cells.flatMap((cell) => cell.marks.filter(({ kind }) => kind === 'environment'));
  const groups = Map.groupBy(marks, ({ step, text }) => `${step} ${text}`);
  return [...groups.values()]
    .flatMap((group) => group.slice(0, 1).map((mark) => ({ ...mark, sweep: mark.step, cells: group.length })))
    .toSorted((a, b) => a.sweep - b.sweep || b.cells - a.cells);
}

/** The Pareto data; null if no cell of the sweep has a measurement. */
async function choiceOf(
  db: StoreDatabase,
  sweep: Sweep,
  { filter }: HtmlReportOptions,
  io: Io,
): Promise<ReportData['pareto']> {
  const options = { at: [sweep.sweepId], ...(filter === undefined ? {} : { filter }) };
  try {
    const { output } = await paretoReport(db, options, io);
    return output.workloads.length === 0 ? null : output;
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}

/** One entry for each sweep of the series. @param environmentIds environments of the page, in order */
function sweepColumns(
  { history, runs }: CellSweeps,
  sweeps: readonly Sweep[],
  environmentIds: readonly string[],
): SweepColumns {
  const places = new Map(history.places.map((sweep, place) => [sweep, place]));
  const column = (of: (own: readonly SweepRun[], place: number) => number | null) =>
    sweeps.map((_, sweep) => {
      const place = places.get(sweep);
      const own = place === undefined ? undefined : runs[place];
      return place === undefined || own === undefined ? null : of(own, place);
    });
  return {
    values: column((_, place) => history.values[place] ?? null),
    least: column((own) => Math.min(...own.map(({ value }) => value))),
    most: column((own) => Math.max(...own.map(({ value }) => value))),
    runs: column(({ length }) => length),
    environments: column((own) => {
      const environment = environmentIds.indexOf(own.at(-1)?.environmentId ?? '');
      return environment === -1 ? null : environment;
    }),
  };
}

function newestBound({ runs }: CellSweeps): BoundBy | null {
  return usualBound((runs.at(-1) ?? []).map(({ boundBy }) => boundBy));
}

/** Measured runs that do not count, by sweep and reason. */
function leftOutRuns({ leftOut }: CellSweeps, sweeps: readonly Sweep[]): LeftOut[] {
  return sweeps.flatMap(({ sweepId }, sweep) => {
    const reasons = leftOut.filter((run) => run.sweepId === sweepId).map(({ reason }) => reason);
    return [...Map.groupBy(reasons, (reason) => reason)].map(([reason, { length }]) => ({
      sweep,
      reason,
      runs: length,
    }));
  });
}

/** Maximum number of runs whose queries are read. */
const SHOWN_RUNS = 6;

/** By cell key: query times of the newest runs, and of those before the last change of level. */
function newestSamples(
  db: StoreDatabase,
  cells: readonly Pick<ReportCell, 'cell' | 'values' | 'marks'>[],
  sweepIds: readonly SweepId[],
): Map<string, CellSamples> {
  const sides = cells.map(({ cell: { key }, marks, values }) => {
    const sweep = values.findLastIndex((one) => one !== null);
    const change = marks.findLast(({ kind }) => kind === 'slower' || kind === 'faster')?.step ?? sweep;
    return { key, sweep, before: values.findLastIndex((one, place) => one !== null && place < change) };
  });
  const places = sides.flatMap(({ before, sweep }) => [before, sweep]);
  const wanted = new Set(places.flatMap((place) => sweepIds[place] ?? []));
  const keys = cells.map(({ cell }) => cell.key);
  const runs = cellRunsOf(db, [...wanted], keys).filter(isMeasured);
  const bySweepAndCell = Map.groupBy(runs, ({ sweepId, cellKey }) => `${sweepId} ${cellKey}`);
  return new Map(
    sides.map(({ before, key, sweep }) => {
      const [now, earlier] = [sweep, before].map((place) =>
        samplesOf(db, bySweepAndCell.get(`${sweepIds[place]} ${key}`) ?? []),
      );
      return [
        key,
        {
          sweep: sweep < 0 ? null : sweep,
          before: before < 0 ? null : before,
          histogram: histogramOf(now ?? [], earlier),
        },
      ];
    }),
  );
}

/** GPU compute times of the queries of some runs; those with samples that cannot be read are omitted. */
function samplesOf(db: StoreDatabase, runs: readonly CellRun[]): Float64Array[] {
  return runs.slice(-SHOWN_RUNS).flatMap(({ runId }) => {
    try {
      return runSamples(db, runId)?.columns.computeMs ?? [];
    } catch {
      // A blob of another program, or a damaged one. The rest of the report stays valid.
      return [];
    }
  });
}
