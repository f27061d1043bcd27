import { disturbedCells } from '../analyse/disturbed-runs.ts';
import { LEAST_PRECISION_SHARE } from '../analyse/precision-share.ts';
import { summarizeCells } from '../analyse/summarize-cells.ts';
import type { KeyedCell } from '../domain/cell.ts';
import { UsageError } from '../domain/errors.ts';
import { EXIT_CODES, type ExitCode } from '../domain/exit-codes.ts';
import { jsonText, printable } from '../domain/printable.ts';
import { QUERY_TIME_COLUMNS, type QueryTimes } from '../domain/query-times.ts';
import { cellsWithoutEngine } from '../ingest/engines.ts';
import { readStoredPlan } from '../ingest/stored-plan.ts';
import type { Outcome } from '../domain/outcome.ts';
import type { Sweep } from '../domain/sweep.ts';
import { joinLayers } from '../parse/join-layers.ts';
import { cellRunsText, type ListedRun } from '../report/cell-report.ts';
import { shownRunText } from '../report/show-report.ts';
import { sweepJson, sweepText } from '../report/sweep-report.ts';
import { cellRunsOf } from '../store/cell-runs.ts';
import { allCells, findCells } from '../store/cells.ts';
import { sweepsNamed } from '../store/find-sweeps.ts';
import { type StoreDatabase } from '../store/open.ts';
import { prunedFrom } from '../store/pruned-runs.ts';
import {
  findRunsByPrefix,
  runLayers,
  runSamples,
  runsOfCell,
  showRun,
  type ShownRun,
} from '../store/show-run.ts';
import { findSweepsByPrefix, planOf } from '../store/sweeps.ts';
import { namedCells } from './choose-cells.ts';
import { type Io, printLines } from './io.ts';
import { mappedCells } from './mapped-cells.ts';
import { metricNamed } from './metric-named.ts';
import { realPrecisions } from './real-precisions.ts';
import { withStore } from './with-store.ts';
import { resolveSide } from './sides.ts';

export interface ShowOptions {
  readonly json?: boolean;
  readonly db?: string;
  readonly samples?: boolean;
  /** Of a sweep: values by precision and batch instead of a line for each cell. */
  readonly map?: boolean;
  /** What the map shows. */
  readonly metric?: string;
  /** From 0 to 1. */
  readonly precisionShare?: number;
}

const LISTED_RUNS = 50;

/** `bench show RUN|SWEEP|CELL`: what is stored of one of them. */
export async function show(name: string, options: ShowOptions, io: Io): Promise<ExitCode> {
  if (options.metric !== undefined && options.map !== true) {
    throw new UsageError('--metric says what --map shows: add --map');
  }
  return withStore(options, io, async (store) => {
    const { db } = store;
    const [runId, ...moreRuns] = findRunsByPrefix(db, name);
    const [sweep, ...moreSweeps] = await sweepsOfName(db, name, io);
    if (moreRuns.length + moreSweeps.length > 0 || (runId !== undefined && sweep !== undefined)) {
      throw new UsageError(`${printable(name)} is the start of several ids: write more of it`);
    }
    if (sweep !== undefined) showSweep(db, sweep, options, io);
    else if (runId !== undefined) showOneRun(db, runId, options, io);
    else showCell(db, name, options, io);
    return EXIT_CODES.fine;
  });
}

/** By the start of an id, or by what `compare` takes: `latest`, `latest~N`, `baseline:NAME`. */
async function sweepsOfName(db: StoreDatabase, name: string, io: Io): Promise<readonly Sweep[]> {
  return /^latest(~\d+)?$|^baseline:/.test(name)
    ? (await resolveSide(db, name, io)).sweeps
    : [...findSweepsByPrefix(db, name), ...sweepsNamed(db, name)];
}

function showSweep(db: StoreDatabase, sweep: Sweep, options: ShowOptions, io: Io): void {
  const runs = cellRunsOf(db, [sweep.sweepId]);
  const stored = readStoredPlan(planOf(db, sweep.sweepId));
  const planned = stored?.plan.cells.map(({ cell }) => cell.key) ?? [];
  const keys = new Set([...planned, ...runs.map(({ cellKey }) => cellKey)]);
  const known = findCells(db, [...keys]);
  const cells = [...keys].flatMap((key) => known.get(key) ?? []);
  const withoutEngine =
    stored === null ? new Map<string, Outcome>() : cellsWithoutEngine(db, sweep, stored.plan);
  const disturbed = stored === null ? [] : disturbedCells(runs, stored.plan.repeats);
  const replaced = disturbed.reduce((sum, cell) => sum + cell.replaced, 0);
  const tally = { measured: 0, unfit: 0, failed: 0, skipped: 0, kept: 0, replaced };
  for (const { outcome } of runs) tally[outcome.kind] += 1;
  const report = {
    sweep,
    counts: tally,
    cells: summarizeCells(
      cells,
      runs,
      withoutEngine,
      realPrecisions(db, cells, runs),
      options.precisionShare ?? LEAST_PRECISION_SHARE,
    ),
  };
  const mapped =
    options.map === true ? mappedCells(report.cells, runs, metricNamed(db, options.metric)) : null;
  if (options.json === true) io.out(`${jsonText(sweepJson(report))}\n`);
  else printLines(io, sweepText(report, io.look, mapped));
}

function showOneRun(db: StoreDatabase, runId: string, options: ShowOptions, io: Io): void {
  const run = showRun(db, runId);
  if (run === null) return;
  if (options.samples === true) {
    printSamples(db, run, options, io);
    return;
  }
  const cell =
    run.cellKey === null ? null : (findCells(db, [run.cellKey]).get(run.cellKey) ?? null);
  const stored = runLayers(db, runId);
  const layers = stored === null ? null : joinLayers(stored.profile, stored.layers);
  if (options.json === true) io.out(`${jsonText({ schemaVersion: 1, ...run, cell, layers })}\n`);
  else printLines(io, shownRunText(run, cell, layers ?? [], io.look));
}

/** CSV with the columns of `--exportTimes`, exactly as trtexec wrote the numbers. */
function printSamples(db: StoreDatabase, run: ShownRun, options: ShowOptions, io: Io): void {
  const samples = runSamples(db, run.runId);
  if (samples === null) {
    const pruned = prunedFrom(db, run.runId);
    const why =
      pruned?.samples === true
        ? ` any more: \`bench db prune\` took them on ${pruned.prunedAt.slice(0, 10)}`
        : '';
    throw new UsageError(`run ${run.runId.slice(0, 8)} has no samples${why}`);
  }
  const names = QUERY_TIME_COLUMNS.filter((name) => samples.columns[name] !== undefined);
  if (options.json === true) {
    const columns = names.map((name) => [name, [...(samples.columns[name] ?? [])]]);
    io.out(`${jsonText({ schemaVersion: 1, runId: run.runId, ...Object.fromEntries(columns) })}\n`);
    return;
  }
  const rows = Array.from({ length: samples.count }, (_, row) => rowOf(samples, names, row));
  io.out(`${[names.join(','), ...rows].join('\n')}\n`);
}

function rowOf(
  samples: QueryTimes,
  names: readonly (typeof QUERY_TIME_COLUMNS)[number][],
  row: number,
): string {
  return names.map((name) => String(samples.columns[name]?.[row])).join(',');
}

function showCell(db: StoreDatabase, name: string, options: ShowOptions, io: Io): void {
  const [cell, ...more] = namedCells(allCells(db), [name]);
  if (cell === undefined) return;
  if (more.length > 0) {
    throw new UsageError(
      `${printable(name)} is ${more.length + 1} cells: name one by its key (see \`bench cells\`)`,
    );
  }
  const runs = runsOfCell(db, cell.key, LISTED_RUNS);
  if (options.json === true) io.out(`${jsonText({ schemaVersion: 1, cell, runs })}\n`);
  else printLines(io, cellRunsText(cell, withValues(db, cell, runs), io.look));
}

/** The runs with what they measured. */
function withValues(
  db: StoreDatabase,
  { harness }: KeyedCell,
  runs: ReturnType<typeof runsOfCell>,
): ListedRun[] {
  const sweepIds = [...new Set(runs.map(({ sweepId }) => sweepId))];
  const values = new Map(cellRunsOf(db, sweepIds).map((run) => [run.runId, run.values]));
  return runs.map((run) => ({
    ...run,
    gpuComputeMs: values.get(run.runId)?.gpuComputeMs ?? null,
    throughputQps: values.get(run.runId)?.throughputQps ?? null,
    value: harness === undefined ? null : (values.get(run.runId)?.[harness.metric] ?? null),
  }));
}
