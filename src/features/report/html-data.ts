import { cellsOfSweeps } from '../../selection/by-name.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { inLabelOrder } from '../../text/cell-label.ts';
import { UsageError } from '../../errors.ts';
import type { Sweep } from '../../records/sweep.ts';
import { checkReport, judgeNight, type Night, nightAt } from '../check/index.ts';
import { compareReport } from '../compare/index.ts';
import type { ReportCell } from '../../html/cell-data.ts';
import type { EnvironmentChange, ReportData } from './page/report-data.ts';
import { paretoReport } from '../choose/index.ts';
import { listBaselines } from '../../store/sweeps/sweeps.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import { findingsOfCell } from '../../store/sweeps/findings.ts';
import { listSeries, seriesUntil } from '../../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import { metricNamed } from '../../selection/by-name.ts';
import { breathe, type Io } from '../../cli/io.ts';
import { resolveSides, type Side } from '../../selection/sides.ts';
import { toolVersion } from '../../cli/store-location.ts';
import { cellLayers } from './cell-layers.ts';
import { EnvironmentList, leftOutRuns, nightMarks, reportNights, newestSamples } from './cell-nights.ts';

export interface HtmlReportOptions {
  readonly db?: string;
  readonly metric?: string;
  readonly filter?: string;
  readonly branch?: string;
  readonly asOf?: string;
  /** So many sweeps, the newest. */
  readonly last?: number;
}

/** What the page compares; without it the newest sweep with the one before it in its series. */
export interface PageSides {
  readonly base: string;
  /** Undefined: what is checked out, as in `bench compare BASE`. */
  readonly head: string | undefined;
}

/** More than a year of nights. */
const LAST_SWEEPS = 400;

/** All that the HTML report says, from the store alone. Stores nothing. */
export async function htmlReportData(
  db: StoreDatabase,
  options: HtmlReportOptions,
  io: Io,
  named: PageSides | null = null,
): Promise<ReportData> {
  const sides = named === null ? null : await resolveSides(db, named.base, named.head, io);
  const asOf = sides?.head.sweeps[0]?.sweepId;
  const night = await nightAt(db, asOf === undefined ? options : { ...options, asOf }, io);
  const last = options.last ?? LAST_SWEEPS;
  const found = seriesUntil(db, night.sweep, Number.MAX_SAFE_INTEGER);
  const sweeps = found.slice(0, last).toReversed();
  const cells = cellsOf(db, sweeps, options.filter);
  const judged = await judgeNight(db, night, options, io);
  await breathe(io);
  const check = await checkReport(db, night, judged, io);
  const { reportCells, environments } = await gatherCells(db, cells, sweeps, options, io);
  const { provenance, matrix, branch } = night.sweep;
  const pinned = baselineNames(db);
  return {
    toolVersion: toolVersion(),
    series: { provenance, matrix, branch, olderSweeps: found.length - sweeps.length },
    sweeps: sweeps.map(({ sweepId, startedAt, commit, dirty, recordingSet, tensorrt }) => ({
      sweepId,
      startedAt,
      commit,
      dirty,
      recordingSet,
      tensorrt,
      baselines: pinned.get(sweepId) ?? [],
    })),
    cells: reportCells,
    environments,
    environmentChanges: environmentChangesOf(reportCells),
    check,
    compare: await comparedSides(db, sides ?? lastTwo(sweeps), options),
    pareto: await choiceOf(db, night, options, io),
    others: listSeries(db).filter(
      (other) => other.provenance !== provenance || other.matrix !== matrix || other.branch !== branch,
    ),
  };
}

/** Every cell that some sweep of the series measured, or was to measure. */
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
  { metric }: HtmlReportOptions,
  io: Io,
) {
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const histories = cellHistories(db, sweeps, cells, metricNamed(db, metric), 'all');
  await breathe(io);
  const known = findEnvironments(db, [
    ...new Set(histories.flatMap(({ runs }) => runs.flat().map((run) => run.environmentId))),
  ]);
  const list = new EnvironmentList(known);
  const provenance = sweeps.at(-1)?.provenance ?? 'measured';
  const baselines = baselineNames(db);
  const told = histories.map((history) => {
    const { cell } = history;
    const nights = reportNights(history, sweeps, list);
    const findings = findingsOfCell(db, { cellKey: cell.key, metric: history.metric, provenance });
    const marks = nightMarks(history, nights, sweeps, known, findings, baselines);
    const leftOut = leftOutRuns(history, sweeps);
    return { cell, key: cell.key, metric: history.metric, nights, marks, leftOut };
  });
  await breathe(io);
  const samples = newestSamples(db, told, ids);
  await breathe(io);
  const layers = cellLayers(db, cells, ids);
  const reportCells = told.map(({ key, ...cell }): ReportCell => ({
    ...cell,
    samples: samples.get(key) ?? { night: null, histogram: null, unreadable: 0 },
    ...(layers.get(key) ?? { layers: null, diffs: [] }),
  }));
  return { reportCells, environments: list.environments };
}

function baselineNames(db: StoreDatabase): Map<string, string[]> {
  const bySweep = Map.groupBy(listBaselines(db), ({ sweepId }) => sweepId);
  return new Map([...bySweep].map(([id, pinned]) => [id, pinned.map(({ name }) => name)]));
}

/** The same change in many cells, once. */
function environmentChangesOf(cells: readonly ReportCell[]): EnvironmentChange[] {
  const marks = cells.flatMap((cell) => cell.marks.filter(({ kind }) => kind === 'environment'));
  const groups = Map.groupBy(marks, ({ step, text }) => `${step} ${text}`);
  return [...groups.values()]
    .flatMap((group): EnvironmentChange[] => {
      const [first] = group;
      if (first === undefined) return [];
      const { step: night, text, breaksLine } = first;
      return [{ night, text, breaksLine, cells: group.length }];
    })
    .toSorted((a, b) => a.night - b.night || b.cells - a.cells);
}

function sideOf(sweep: Sweep): Side {
  return { ref: sweep.sweepId.slice(0, 8), sweeps: [sweep], note: null };
}

/** The newest sweep and the one before it in the series. */
function lastTwo(sweeps: readonly Sweep[]): { readonly base: Side; readonly head: Side } | null {
  const [before, newest] = sweeps.slice(-2);
  if (before === undefined || newest === undefined) return null;
  return { base: sideOf(before), head: sideOf(newest) };
}

async function comparedSides(
  db: StoreDatabase,
  sides: { readonly base: Side; readonly head: Side } | null,
  { metric, filter }: HtmlReportOptions,
): Promise<ReportData['compare']> {
  if (sides === null) return null;
  const options = { ...(metric === undefined ? {} : { metric }), ...(filter === undefined ? {} : { filter }) };
  try {
    return (await compareReport(db, sides, options)).output;
  } catch (error) {
    // Neither of the two has a cell that the filter lets through.
    if (error instanceof UsageError) return null;
    throw error;
  }
}

async function choiceOf(
  db: StoreDatabase,
  { sweep }: Night,
  { filter }: HtmlReportOptions,
  io: Io,
): Promise<ReportData['pareto']> {
  try {
    const chosen = filter === undefined ? {} : { filter };
    const { output } = await paretoReport(db, { at: [sweep.sweepId], ...chosen }, io);
    return output.workloads.length === 0 ? null : output;
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}
