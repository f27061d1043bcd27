import { cellsOfSweeps, metricNamed } from '../../selection/by-name.ts';
import { inLabelOrder } from '../../records/cell.ts';
import { UsageError } from '../../errors.ts';
import { trendMarks } from '../../judge/trend.ts';
import type { Sweep } from '../../records/sweep.ts';
import { isShownWhole, newFirst } from '../check/index.ts';
import { checkedNewest, gateOf, judgementsOf, notesOfSides, type Subject } from './gather.ts';
import { paretoReport } from '../choose/index.ts';
import { listBaselines } from '../../store/sweeps/sweeps.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import { findFindingsByPrefix } from '../../store/sweeps/findings.ts';
import { seriesUntil } from '../../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import { type Io, yieldToEventLoop } from '../../cli/io.ts';
import type { ReportOptions } from './command.ts';
import { toolVersion } from '../../cli/store-location.ts';
import { cellLayers, layersOfFinding } from './layers.ts';
import { NOT_JUDGED } from '../export/index.ts';
import { usualBound } from '../../judge/bound.ts';
import type { CellSweeps } from '../../judge/gate/fit-runs.ts';
import type { SweepRun } from '../../judge/value-rule.ts';
import { type DrawnCell, histogramOf } from '../../html/page-data.ts';
import { runSamples } from '../../store/runs/show-run.ts';
import { forgeOf, originUrl } from '../../tools/git/forge.ts';

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
  const checked = subject.checked ?? (await checkedNewest(db, { asOf: head.sweeps[0]?.sweepId }, io));
  const { findings, judged, series } = checked;
  const newest = judged.series.sweep;
  const found = seriesUntil(db, newest, Number.MAX_SAFE_INTEGER);
  const sweeps = found.slice(0, options.last ?? LAST_SWEEPS).toReversed();
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const cells = inLabelOrder(cellsOfSweeps(db, ids, options.filter));
  if (cells.length === 0) throw new UsageError('no cell of these sweeps matches; see `bench ls cells`');
  await yieldToEventLoop(io);
  const metric = metricNamed(db, options.metric);
  const said = judgementsOf({ checked: compared === null ? checked : null, compared }, metric);
  const histories = cellHistories(db, sweeps, cells, metric, 'all');
  await yieldToEventLoop(io);
  const runs = histories.flatMap((history) => history.runs.flat());
  const environmentIds = [...new Set(runs.map((run) => run.environmentId))];
  const environments = findEnvironments(db, environmentIds);
  const baselines = listBaselines(db);
  const layers = cellLayers(db, cells, ids);
  await yieldToEventLoop(io);
  const reportCells = histories.map((history) => {
    const { cell, metric: own } = history;
    const columns = sweepColumns(history, sweeps, environmentIds);
    const steps = ids.map((sweepId) => ({ sweepId }));
    const about = { cellKey: cell.key, metric: own };
    const marks = trendMarks({ about, baselines, environments, judged, runs: history.runs.flat(), steps });
    return {
      cell,
      metric: own,
      ...columns,
      marks,
      leftOut: history.leftOut.map(({ reason, sweepId }) => ({ sweep: ids.indexOf(sweepId), reason })),
      boundBy: usualBound((history.runs.at(-1) ?? []).map((run) => run.boundBy)),
      samples: samplesOf(db, history, marks),
      judgement: said.get(cell.key) ?? NOT_JUDGED,
      layers: layers.get(cell.key) ?? null,
    };
  });
  const { provenance, matrix, branch } = newest;
  const keys = new Set(cells.map(({ key }) => key));
  const shown = findings.filter((finding) => finding.cells.some((key) => keys.has(key)));
  const origin = await originUrl(io.cwd);
  return {
    toolVersion: toolVersion(),
    series: { provenance, matrix, branch, olderSweeps: found.length - sweeps.length },
    notes: notesOfSides(db, subject.base, [newest.sweepId]).concat((subject.checked ?? compared) ? [] : notes),
    /** Oldest first. Index `n` in every cell is the n-th sweep. */
    sweeps,
    cells: reportCells,
    /** Cells refer to environments by index. */
    environments: environmentIds.flatMap((id) => environments.get(id) ?? []),
    environmentChanges: environmentChangesOf(reportCells),
    check: {
      /** Of all series, when others are slower. */
      gate: gateOf(checked, null),
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
  };
}

export type ReportCell = ReportData['cells'][number];

/** Environment changes, each once even if it is in many cells. */
function environmentChangesOf(cells: readonly Pick<DrawnCell, 'marks'>[]) {
  const marks = cells.flatMap((cell) => cell.marks.filter(({ kind }) => kind === 'environment'));
  const groups = Map.groupBy(marks, ({ step, text }) => `${step} ${text}`);
  return [...groups.values()]
    .flatMap((group) => group.slice(0, 1).map((mark) => ({ ...mark, sweep: mark.step, cells: group.length })))
    .toSorted((a, b) => a.sweep - b.sweep || b.cells - a.cells);
}

/** The Pareto data; null if no cell of the sweep has a measurement. */
async function choiceOf(db: StoreDatabase, sweep: Sweep, { filter }: HtmlReportOptions, io: Io) {
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
function sweepColumns({ history, runs }: CellSweeps, sweeps: readonly Sweep[], environmentIds: readonly string[]) {
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

/** The query times of the newest runs of a cell, and of those before the last change of level. */
function samplesOf(db: StoreDatabase, { history, runs }: CellSweeps, marks: DrawnCell['marks']): DrawnCell['samples'] {
  const last = history.places.length - 1;
  const change =
    marks.findLast(({ kind }) => kind === 'slower' || kind === 'faster')?.step ?? history.places[last] ?? 0;
  const before = history.places.findLastIndex((sweep) => sweep < change);
  const [now = [], earlier] = [last, before].map((place) =>
    (runs[place] ?? []).slice(-SHOWN_RUNS).flatMap(({ runId }) => runSamples(db, runId)?.columns.computeMs ?? []),
  );
  const [sweep = null, earlierSweep = null] = [history.places[last], history.places[before]];
  return { sweep, before: earlierSweep, histogram: histogramOf(now, earlier) };
}
