import { disturbedCells } from '../../judge/run-trust.ts';
import { boundOf } from '../../judge/bound.ts';
import { provenBound } from './next-steps.ts';
import type { CellBound } from '../../records/bound.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import { engineNote, engineNotes, mixedEngines, rebuiltEngines } from '../../selection/rebuilt-engines.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { jsonText, printable } from '../../text/printable.ts';
import { QUERY_TIME_COLUMNS } from '../../trtexec/run-facts.ts';
import { buildRefsOf } from '../../records/plan.ts';
import { failedBuilds, plannedBuildOf } from '../../engines/engine-state.ts';
import { runIdOf } from '../../run/measure-run.ts';
import { readStoredPlan, type StoredPlan } from '../../run/stored-plan.ts';
import type { Sweep } from '../../records/sweep.ts';
import { joinLayers } from '../../layers/profiled-engine.ts';
import { cellRunsText, latencyGapLines, latencyGapsOf, type ListedRun } from './cell-text.ts';
import { type DescribedRun, shownRunText, steadinessOf } from './text.ts';
import { sweepText } from './sweep-text.ts';
import { shownSweepOf, summariesOf, mappedCells } from './swept.ts';
import type { ShownCell } from './output.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { allCells, findCells } from '../../store/cells.ts';
import { failedAmong, findOutcome } from '../../store/runs/runs.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import { plannedSweeps, sweepsById } from '../../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { NO_SWEEP_NUMBERS, sweepNumbers } from '../../store/sweeps/overview.ts';
import { prunedFrom } from '../../store/prune.ts';
import {
  type ListedRun as StoredRun,
  type RunQueries,
  type ShownRun,
  findRunsByPrefix,
  queryTimes,
  runLayers,
  runSamples,
  runsOfCell,
  showRun,
} from '../../store/runs/show-run.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import { findingByPrefix, namedCell, metricNamed } from '../../selection/by-name.ts';
import { cellsInWords } from '../../selection/cell-points.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { sweepFailures } from '../../run/sweep-failures.ts';
import { mapAxes } from '../../terminal/charts/heat-map.ts';
import { withStore } from '../../cli/with-store.ts';
import { sweepsOfName } from '../../selection/sides.ts';
import type { ShowOptions } from './command.ts';
import type { CellKey, RunId } from '../../records/scalars.ts';

const LISTED_RUNS = 50;
const SHOWN_PERCENT = 1;

export async function show(name: string, options: ShowOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async (store) => {
    const { db } = store;
    const [runId, ...moreRuns] = findRunsByPrefix(db, name);
    const [sweep, ...moreSweeps] = await sweepsOfName(db, name, io);
    if (moreRuns.length + moreSweeps.length > 0 || (runId !== undefined && sweep !== undefined)) {
      throw new UsageError(
        sweep?.name === name
          ? `${printable(name)} is the name of several sweeps: take the id of one (\`bench ls sweeps\`)`
          : `${printable(name)} is the start of several ids: write more of it`,
      );
    }
    if (options.metric !== undefined && options.map === undefined && runId === undefined) {
      throw new UsageError('--metric needs --map or the chart of a run: add --map');
    }
    if (options.samples === true && runId === undefined) {
      throw new UsageError('--samples prints those of a run: `bench show CELL` lists its runs');
    }
    if (sweep !== undefined) showSweep(db, sweep, options, io);
    else if (runId !== undefined) showOneRun(db, runId, options, io);
    else {
      const cells = allCells(db);
      const finding = cellsInWords(cells, [name]).length > 0 ? null : findingByPrefix(db, name);
      if (finding !== null) return (await import('../check/index.ts')).showFinding(db, finding, options, io);
      showCell(db, cells, name, options, io);
    }
    return EXIT_CODES.fine;
  });
}

function showSweep(db: StoreDatabase, sweep: Sweep, options: ShowOptions, io: Io): void {
  const runs = cellRunsOf(db, [sweep.sweepId]);
  const stored = readStoredPlan(planOf(db, sweep.sweepId));
  const planned = stored?.plan.cells.map(({ cell }) => cell.key) ?? [];
  const keys = new Set([...planned, ...runs.map(({ cellKey }) => cellKey)]);
  const known = findCells(db, [...keys]);
  const cells = [...keys].flatMap((key) => known.get(key) ?? []);
  const disturbed = stored === null ? [] : disturbedCells(runs, stored.plan.repeats);
  const replaced = disturbed.reduce((sum, cell) => sum + cell.replaced, 0);
  const failures = sweepFailures(db, sweep.sweepId, stored?.plan ?? null);
  const skipped = stored === null ? 0 : skippedRuns(db, sweep, stored);
  const tally = { measured: 0, unfit: 0, failed: 0, skipped, kept: 0, replaced };
  // Builds are not runs of any cell.
  const builds = failures.filter(({ role }) => role === 'build');
  for (const { kind } of [...runs.map(({ outcome }) => outcome), ...builds]) {
    if (kind !== 'built') tally[kind] += 1;
  }
  const summaries = summariesOf(db, sweep, cells, runs, stored?.plan ?? null, options);
  const { map } = options;
  const axes = map === undefined ? undefined : mapAxes(map, summaries);
  const mapped = axes === undefined ? null : mappedCells(summaries, runs, metricNamed(db, options.metric));
  for (const note of engineNotes(db, sweep.sweepId)) io.err(`note: ${note}\n`);
  const output = shownSweepOf(sweep, tally, summaries, failures, rebuiltEngines(db, sweep, cells, runs));
  const numbers = sweepNumbers(db, [sweep.sweepId]).get(sweep.sweepId) ?? NO_SWEEP_NUMBERS;
  printResult(io, options, output, (_, look) => sweepText(output, numbers, summaries, look, mapped, axes));
}

/** Planned runs whose engine could not be built. */
function skippedRuns(db: StoreDatabase, sweep: Sweep, { plan }: StoredPlan): number {
  const failed = failedBuilds(db, sweep, plan.builds);
  const waiting = plan.runs.filter((run) => buildRefsOf(run).some((ref) => failed.has(ref)));
  return waiting.filter((run) => findOutcome(db, runIdOf(sweep.sweepId, run)) === null).length;
}

function showOneRun(db: StoreDatabase, runId: RunId, options: ShowOptions, io: Io): void {
  const run = showRun(db, runId);
  if (run === null) return;
  if (options.samples === true) {
    printSamples(db, run, options, io);
    return;
  }
  const cell = run.cellKey === null ? null : (findCells(db, [run.cellKey]).get(run.cellKey) ?? null);
  const stored = runLayers(db, runId);
  const layers = stored === null ? null : joinLayers(stored.profile, stored.layers);
  const build = run.role === 'build' ? buildLabel(db, run) : null;
  const mixed = mixedEngines(db, [run.sweepId]).find(({ cell: { key } }) => key === run.cellKey);
  if (mixed !== undefined) io.err(`note: ${engineNote(mixed)}\n`);
  const cellEngines = mixed?.paths ?? null;
  const bound = provenBound(db, run.sweepId, cell, run.bound);
  const queries = queriesOf(db, run, options);
  const steadiness =
    queries === null ? null : steadinessOf(db, run.sweepId, cell, queries, options.shows ?? SHOWN_PERCENT);
  const output: DescribedRun = { schemaVersion: 1, ...run, bound, cell, build, cellEngines, steadiness, layers };
  printResult(io, options, output, (_, look) => shownRunText(output, look, queries));
}

/** The requested metric; by default GPU compute time, or latency for runs without it. */
function queriesOf(db: StoreDatabase, { runId }: ShownRun, { metric: requested }: ShowOptions): RunQueries | null {
  const metric = metricNamed(db, requested);
  const [first, ...others] = metric === null ? (['gpuComputeMs', 'latencyMs'] as const) : ([metric] as const);
  return queryTimes(db, [runId], first) ?? others.map((other) => queryTimes(db, [runId], other))[0] ?? null;
}

/** The label in the plan of the sweep; for an import, the name of the model. */
function buildLabel(db: StoreDatabase, { runId, sweepId, buildModel }: ShownRun): string | null {
  const plan = readStoredPlan(planOf(db, sweepId))?.plan;
  const build = plan === undefined ? null : plannedBuildOf(plan, sweepId, runId);
  return build?.label ?? buildModel;
}

/** Prints CSV with the columns of `--exportTimes` and the numbers as trtexec wrote them. */
function printSamples(db: StoreDatabase, run: ShownRun, options: ShowOptions, io: Io): void {
  const samples = runSamples(db, run.runId);
  if (samples === null) {
    const pruned = prunedFrom(db, run.runId);
    const why = pruned?.samples === true ? `: \`bench db prune\` deleted them on ${pruned.prunedAt.slice(0, 10)}` : '';
    throw new UsageError(`run ${run.runId.slice(0, 8)} has no samples${why}`);
  }
  const names = QUERY_TIME_COLUMNS.filter((name) => samples.columns[name] !== undefined);
  if (options.json === true) {
    const columns = names.map((name) => [name, [...(samples.columns[name] ?? [])]]);
    io.out(`${jsonText({ schemaVersion: 1, runId: run.runId, ...Object.fromEntries(columns) })}\n`);
    return;
  }
  const rows = Array.from({ length: samples.count }, (_, row) =>
    names.map((name) => String(samples.columns[name]?.[row])).join(','),
  );
  io.out(`${[names.join(','), ...rows].join('\n')}\n`);
}

function showCell(db: StoreDatabase, cells: readonly KeyedCell[], name: string, options: ShowOptions, io: Io): void {
  const cell = namedCell(cells, name, ['latest', 'latest~1', 'HEAD', 'HEAD~1']);
  const runs = withFirstLine(db, [...failedBuildsOf(db, cell.key), ...runsOfCell(db, cell.key, LISTED_RUNS)]).toSorted(
    (a, b) => (b.startedAt ?? '').localeCompare(a.startedAt ?? ''),
  );
  const sweepIds = [...new Set(runs.map(({ sweepId }) => sweepId))];
  const mixed = mixedEngines(db, sweepIds).filter(({ cell: { key } }) => key === cell.key);
  for (const each of mixed) io.err(`note: ${engineNote(each)}\n`);
  const engines = mixed.map(({ sweepId, paths }) => ({ sweepId, paths }));
  const latencyGaps = latencyGapsOf(db, cell, cells);
  const valued = cellRunsOf(db, sweepIds, [cell.key]);
  const bound = newestBound(db, cell, valued);
  const output: ShownCell = { schemaVersion: 1, cell, bound, runs, mixedEngines: engines, latencyGaps };
  printResult(io, options, output, (_, look) => [
    ...cellRunsText(cell, bound, withValues(cell, runs, valued), look),
    ...latencyGapLines(latencyGaps, look),
  ]);
}

const LISTED_SWEEPS = 10;

/** Failed builds in the planned sweeps of a cell. */
function failedBuildsOf(db: StoreDatabase, cellKey: CellKey): StoredRun[] {
  const planned = plannedSweeps(db, null)(cellKey, LISTED_SWEEPS).map(({ sweepId }) => sweepId);
  return sweepsById(db, planned).flatMap((sweep): StoredRun[] => {
    const plan = readStoredPlan(planOf(db, sweep.sweepId))?.plan;
    const buildRef = plan?.cells.find(({ cell }) => cell.key === cellKey)?.buildRef;
    const builds = plan?.builds.filter((build) => build.buildRef === buildRef) ?? [];
    return [...failedBuilds(db, sweep, builds).values()].flatMap(({ runId }) => {
      const run = showRun(db, runId);
      if (run === null) return [];
      const { sweepId, role, repeat, startedAt, outcome } = run;
      return [{ runId, sweepId, role, repeat, startedAt, outcome }];
    });
  });
}

/** Failed runs with the first line of evidence. */
function withFirstLine(db: StoreDatabase, runs: readonly StoredRun[]): StoredRun[] {
  const ids = runs.map(({ runId }) => runId);
  const failed = failedAmong(db, ids);
  const outcomes = new Map(failed.map(({ runId, outcome }) => [runId, outcome]));
  return runs.map((run) => ({ ...run, outcome: outcomes.get(run.runId) ?? run.outcome }));
}

/** Bottleneck in the newest sweep that measured the cell; null if unknown or for another harness. */
function newestBound(db: StoreDatabase, cell: KeyedCell, runs: readonly CellRun[]): CellBound | null {
  const measured = runs.filter(isMeasured);
  const newest = measured.at(-1);
  if (newest === undefined) return null;
  const { environmentId, sweepId } = newest;
  const gpuName = findEnvironments(db, [environmentId]).get(environmentId)?.gpuName;
  const own = measured.filter((run) => run.sweepId === sweepId);
  return provenBound(db, sweepId, cell, boundOf(cell, own, gpuName));
}

function withValues({ harness }: KeyedCell, runs: readonly StoredRun[], valued: readonly CellRun[]): ListedRun[] {
  const values = new Map(valued.map((run) => [run.runId, run.values]));
  return runs.map((run) => ({
    ...run,
    gpuComputeMs: values.get(run.runId)?.gpuComputeMs ?? null,
    throughputQps: values.get(run.runId)?.throughputQps ?? null,
    value: harness === undefined ? null : (values.get(run.runId)?.[harness.metric] ?? null),
  }));
}
