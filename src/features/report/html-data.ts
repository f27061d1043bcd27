import { cellsOfSweeps, metricNamed } from '../../selection/by-name.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { inLabelOrder } from '../../records/cell-label.ts';
import { UsageError } from '../../errors.ts';
import { reportedChanges, trendMarks } from '../../judge/trend.ts';
import { metricOf } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { type CheckedSweep, isShownWhole, newFirst } from '../check/index.ts';
import { judgementsOf, newestChecked, type Subject } from './subject.ts';
import { type ParetoOutput, paretoReport } from '../choose/index.ts';
import { listBaselines } from '../../store/sweeps/sweeps.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import { importNotes } from '../../store/sweeps/overview.ts';
import { findFindingsByPrefix } from '../../store/sweeps/findings.ts';
import { listSeries, seriesUntil } from '../../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import { type Io, yieldToEventLoop } from '../../cli/io.ts';
import type { ReportOptions } from './command.ts';
import { forgeOf, originUrl } from '../../tools/git/git.ts';
import { toolVersion } from '../../cli/store-location.ts';
import { cellLayers, layersOfFinding } from './layers.ts';
import { NOT_JUDGED } from '../export/index.ts';
import { usualBound } from '../../judge/bound.ts';
import type { CellSweeps } from '../../judge/gate/fit-runs.ts';
import type { SweepRun } from '../../judge/value-rule.ts';
import { type DrawnCell, type SweepColumns, histogramOf } from '../../html/page-data.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import { runSamples } from '../../store/runs/show-run.ts';
import type { SweepId } from '../../records/scalars.ts';

export type HtmlReportOptions = Pick<
  ReportOptions,
  'db' | 'metric' | 'filter' | 'branch' | 'asOf' | 'last' | 'redact' | 'upgrade'
>;

/** Maximum number of sweeps in a report: more than a year of nightly ones. */
const LAST_SWEEPS = 400;

/** Data of the HTML report as JSON values; not safe to print. */
export type ReportData = Awaited<ReturnType<typeof htmlReportData>>;

/** Gathers the data of the HTML report on one series; reads the store only. */
export async function htmlReportData(db: StoreDatabase, options: HtmlReportOptions, io: Io, subject: Subject) {
  const { compared, head, notes } = subject;
  const checked = subject.checked ?? (await newestChecked(db, { asOf: head.sweeps[0]?.sweepId }, io));
  const { findings, judged, series } = checked;
  const newest = judged.series.sweep;
  const found = seriesUntil(db, newest, Number.MAX_SAFE_INTEGER);
  const sweeps = found.slice(0, options.last ?? LAST_SWEEPS).toReversed();
  const cells = cellsOf(db, sweeps, options.filter);
  await yieldToEventLoop(io);
  const said = judgementsOf({ checked: compared === null ? checked : null, compared }, metricNamed(db, options.metric));
  const { reportCells, environments } = await gatherCells(db, cells, sweeps, judged, said, options, io);
  const { provenance, matrix, branch } = newest;
  const keys = new Set(cells.map(({ key }) => key));
  const shown = findings.filter((finding) => finding.cells.some((key) => keys.has(key)));
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const origin = await originUrl(io.cwd);
  return {
    toolVersion: toolVersion(),
    series: { provenance, matrix, branch, olderSweeps: found.length - sweeps.length },
    notes: [...importNotes(db, [newest.sweepId]), ...(subject.checked === null && compared === null ? notes : [])],
    /** Oldest first. Index `n` in every cell is the n-th sweep. */
    sweeps,
    cells: reportCells,
    /** Cells refer to environments by index. */
    environments,
    environmentChanges: environmentChangesOf(reportCells),
    check: {
      series,
      /** Whether `bench check` stored the findings, so that commands accept their IDs. */
      isStored: shown.every(({ id }) => findFindingsByPrefix(db, id).length > 0),
      findings: newFirst(shown).map((finding) => ({
        ...finding,
        layers: isShownWhole(finding) ? layersOfFinding(db, finding, cells, ids) : null,
      })),
    },
    /** HEAD against BASE, the subject of the first screen; null if they were not named. */
    compare: compared?.output ?? null,
    forge: origin === null ? null : forgeOf(origin),
    /** Null when no cell of the newest sweep has a measurement. */
    pareto: await choiceOf(db, newest, options, io),
    /** Other series of the store, which are never mixed with this one. */
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

export type ReportCell = ReportData['cells'][number];

async function gatherCells(
  db: StoreDatabase,
  cells: readonly KeyedCell[],
  sweeps: readonly Sweep[],
  judged: CheckedSweep['judged'],
  said: ReturnType<typeof judgementsOf>,
  options: HtmlReportOptions,
  io: Io,
) {
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const histories = cellHistories(db, sweeps, cells, metricNamed(db, options.metric), 'all');
  await yieldToEventLoop(io);
  const all = histories.flatMap(({ runs }) => runs);
  const known = findEnvironments(db, [...new Set(all.flat().map((run) => run.environmentId))]);
  const used = new Set(all.flatMap((runs) => runs.at(-1)?.environmentId ?? []));
  const environmentIds = [...used].filter((id) => known.has(id));
  const baselines = listBaselines(db);
  const drawn = histories.map((history) => {
    const { cell, metric } = history;
    const columns = sweepColumns(history, sweeps, environmentIds);
    const { betterIs } = metricOf(metric);
    const reported = reportedChanges(judged.verdict.findings, judged, { cellKey: cell.key, metric });
    const steps = sweeps.map(({ sweepId }, sweep) => ({ sweepId, value: columns.values[sweep] ?? null }));
    const marks = trendMarks(steps, history.runs.flat(), { betterIs, environments: known, reported, baselines });
    const boundBy = usualBound((history.runs.at(-1) ?? []).map((run) => run.boundBy));
    const leftOut = history.leftOut
      .map(({ reason, sweepId }) => ({ sweep: ids.indexOf(sweepId), reason }))
      .filter(({ sweep }) => sweep >= 0);
    return { cell, metric, ...columns, marks, leftOut, boundBy };
  });
  await yieldToEventLoop(io);
  const sampled = withSamples(db, drawn, ids);
  await yieldToEventLoop(io);
  const layers = cellLayers(db, cells, ids);
  const reportCells = sampled.map((one) => {
    const { key } = one.cell;
    return { ...one, judgement: said.get(key) ?? NOT_JUDGED, layers: layers.get(key) ?? null };
  });
  return { reportCells, environments: environmentIds.flatMap((id) => known.get(id) ?? []) };
}

/** Environment changes, each once even if it is in many cells. */
function environmentChangesOf(cells: readonly Pick<DrawnCell, 'marks'>[]) {
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
): Promise<ParetoOutput | null> {
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
      const place = places.get(sweep) ?? -1;
      const own = runs[place];
      return own === undefined ? null : of(own, place);
    });
  const environments = new Map(environmentIds.map((id, place) => [id, place]));
  return {
    values: column((_, place) => history.values[place] ?? null),
    least: column((own) => Math.min(...own.map(({ value }) => value))),
    most: column((own) => Math.max(...own.map(({ value }) => value))),
    runs: column(({ length }) => length),
    environments: column((own) => environments.get(own.at(-1)?.environmentId ?? '') ?? null),
  };
}

/** Maximum number of runs whose queries are read. */
const SHOWN_RUNS = 6;

/** Adds the query times of the newest runs of each cell, and of those before the last change of level. */
function withSamples<Drawn extends Pick<DrawnCell, 'values' | 'marks'> & { readonly cell: KeyedCell }>(
  db: StoreDatabase,
  cells: readonly Drawn[],
  sweepIds: readonly SweepId[],
) {
  const sides = cells.map((drawn) => {
    const { marks, values } = drawn;
    const sweep = values.findLastIndex((one) => one !== null);
    const change = marks.findLast(({ kind }) => kind === 'slower' || kind === 'faster')?.step ?? sweep;
    return { drawn, sweep, before: values.findLastIndex((one, place) => one !== null && place < change) };
  });
  const wanted = new Set(
    sides.flatMap(({ before, sweep }) => [before, sweep]).flatMap((place) => sweepIds[place] ?? []),
  );
  const keys = cells.map(({ cell }) => cell.key);
  const runs = cellRunsOf(db, [...wanted], keys).filter(isMeasured);
  const bySweepAndCell = Map.groupBy(runs, ({ sweepId, cellKey }) => `${sweepId} ${cellKey}`);
  return sides.map(({ before, drawn, sweep }) => {
    const [now = [], earlier] = [sweep, before].map((place) =>
      samplesOf(db, bySweepAndCell.get(`${sweepIds[place]} ${drawn.cell.key}`) ?? []),
    );
    const samples = {
      sweep: sweep < 0 ? null : sweep,
      before: before < 0 ? null : before,
      histogram: histogramOf(now, earlier),
    };
    return { ...drawn, samples };
  });
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
