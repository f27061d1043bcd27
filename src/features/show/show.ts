import { disturbedCells } from '../../judge/run-trust.ts';
import { provenBound } from './next-steps.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { engineNotes } from '../../selection/mixed-engines.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { jsonText, printable } from '../../text/printable.ts';
import { QUERY_TIME_COLUMNS } from '../../trtexec/run-facts.ts';
import { buildRefsOf } from '../../records/plan.ts';
import { buildLabel, failedBuilds, sweepFailures } from '../../engines/engine-state.ts';
import { runIdOf } from '../../run/measure-run.ts';
import { readStoredPlan, type StoredPlan } from '../../run/stored-plan.ts';
import type { Sweep } from '../../records/sweep.ts';
import { joinLayers } from '../../layers/profiled-engine.ts';
import { cellReport, cellText } from './cell-text.ts';
import { type DescribedRun, shownRunText, steadinessOf } from './text.ts';
import { sweepText } from './sweep-text.ts';
import { sweepReport, mappedCells } from './swept.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { allCells, findCells } from '../../store/cells.ts';
import { findOutcome } from '../../store/runs/runs.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { NO_SWEEP_NUMBERS, sweepNumbers } from '../../store/sweeps/overview.ts';
import { prunedFrom } from '../../store/prune.ts';
import {
  type RunQueries,
  type ShownRun,
  findRunsByPrefix,
  queryTimes,
  runLayers,
  runSamples,
  showRun,
} from '../../store/runs/show-run.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import { findingByPrefix, namedCell, metricNamed } from '../../selection/by-name.ts';
import { cellsInWords } from '../../selection/cell-points.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { mapAxes } from '../../terminal/charts/heat-map.ts';
import { withStore } from '../../cli/with-store.ts';
import { sweepsOfName } from '../../selection/sides.ts';
import type { ShowOptions } from './command.ts';
import type { RunId } from '../../records/scalars.ts';

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
      const cell = namedCell(cells, name, ['latest', 'latest~1', 'HEAD', 'HEAD~1']);
      printResult(io, options, cellReport(db, cell, cells), (shown, look) => cellText(shown, look));
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
  const counts = { measured: 0, unfit: 0, failed: 0, skipped, kept: 0, replaced };
  // Builds are not runs of any cell.
  const builds = failures.filter(({ role }) => role === 'build');
  for (const { kind } of [...runs.map(({ outcome }) => outcome), ...builds]) {
    if (kind !== 'built') counts[kind] += 1;
  }
  const { summaries, output } = sweepReport(
    db,
    { sweep, cells, runs, plan: stored?.plan ?? null, counts, failures },
    options,
  );
  const { map } = options;
  const axes = map === undefined ? undefined : mapAxes(map, summaries);
  const mapped = axes === undefined ? null : mappedCells(summaries, runs, metricNamed(db, options.metric));
  for (const note of engineNotes(db, sweep.sweepId)) io.err(`note: ${note}\n`);
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
  const cell: KeyedCell | null = run.cellKey === null ? null : (findCells(db, [run.cellKey]).get(run.cellKey) ?? null);
  const stored = runLayers(db, runId);
  const layers = stored === null ? null : joinLayers(stored.profile, stored.layers);
  const plan = run.role === 'build' ? readStoredPlan(planOf(db, run.sweepId))?.plan : undefined;
  const build = run.role === 'build' ? buildLabel(plan ?? null, run) : null;
  const bound = provenBound(db, run.sweepId, cell, run.bound);
  const queries = queriesOf(db, run, options);
  const steadiness =
    queries === null ? null : steadinessOf(db, run.sweepId, cell, queries, options.shows ?? SHOWN_PERCENT);
  const output: DescribedRun = { schemaVersion: 1, ...run, bound, cell, build, steadiness, layers };
  printResult(io, options, output, (_, look) => shownRunText(output, look, queries));
}

/** The requested metric; by default GPU compute time, or latency for runs without it. */
function queriesOf(db: StoreDatabase, { runId }: ShownRun, { metric: requested }: ShowOptions): RunQueries | null {
  const metric = metricNamed(db, requested);
  if (metric !== null) return queryTimes(db, [runId], metric);
  return queryTimes(db, [runId], 'gpuComputeMs') ?? queryTimes(db, [runId], 'latencyMs');
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
