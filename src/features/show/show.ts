import { basename, resolve } from 'node:path';

import { attachFile } from '../../artefacts/attached.ts';
import { artefactsFolderOf } from '../../files/layout.ts';
import { disturbedCells } from '../../judge/run-trust.ts';
import { remediedBound } from './next-steps.ts';
import { engineNotes } from '../../selection/engines-of-cells.ts';
import { UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { printable } from '../../text/printable.ts';
import { QUERY_TIME_COLUMNS } from '../../trtexec/run-facts.ts';
import { buildRefsOf, type Plan } from '../../records/plan.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import { type MetricId, metricOf } from '../../records/metric.ts';
import { median } from '../../statistics/order-statistics.ts';
import { buildLabel, failedBuilds, sweepFailures } from '../../engines/engine-state.ts';
import { runIdOf } from '../../run/measure-run.ts';
import { namedShapesIn, readStoredPlan } from '../../run/stored-plan.ts';
import type { Sweep } from '../../records/sweep.ts';
import { joinLayers } from '../../layers/profiled-engine.ts';
import { cellReport, cellText } from './cell-text.ts';
import { type DescribedRun, shownRunText, steadinessOf } from './text.ts';
import { type CellRow, sweepReport, sweepText } from './sweep-text.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { allCells, findCells } from '../../store/cells.ts';
import { findOutcome } from '../../store/runs/runs.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { NO_SWEEP_NUMBERS, sweepNumbers } from '../../store/sweeps/overview.ts';
import { prunedFrom } from '../../store/prune.ts';
import { type ShownRun, findRunsByPrefix, queryTimes, runLayers, runSamples } from '../../store/runs/show-run.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import { findingByPrefix, namedCell, metricNamed, namedRun, storedRun } from '../../selection/by-name.ts';
import { cellsInWords } from '../../selection/cell-points.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { mapAxes } from '../../terminal/charts/heat-map.ts';
import { withStore, withStoreToWrite } from '../../cli/with-store.ts';
import { formatBytes } from '../../terminal/numbers.ts';
import type { AttachOutput } from './output.ts';
import { sweepsOfName } from '../../selection/sides.ts';
import type { ShowOptions } from './command.ts';
import type { RunId } from '../../records/scalars.ts';

const SHOWN_PERCENT = 1;

export async function show(name: string, options: ShowOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async ({ db }) => {
    const [runId, ...moreRuns] = findRunsByPrefix(db, name);
    const [sweep, ...moreSweeps] = await sweepsOfName(db, name, io);
    if (moreRuns.length + moreSweeps.length > 0 || (runId !== undefined && sweep !== undefined)) {
      throw new UsageError(
        sweep?.name === name
          ? `${printable(name)} is the name of several sweeps: take the id of one (\`bench ls sweeps\`)`
          : `${printable(name)} is the start of several ids: write more of it`,
      );
    }
    if (runId !== undefined) return showOneRun(db, runId, options, io);
    if (options.metric !== undefined && options.map === undefined) {
      throw new UsageError('--metric needs --map or the chart of a run: add --map');
    }
    if (options.samples === true) {
      throw new UsageError('--samples prints those of a run: `bench show CELL` lists its runs');
    }
    if (sweep !== undefined) return showSweep(db, sweep, options, io);
    const cells = allCells(db);
    const finding = cellsInWords(cells, [name]).length > 0 ? null : findingByPrefix(db, name);
    if (finding !== null) return (await import('../check/index.ts')).showFinding(db, finding, options, io);
    const cell = namedCell(cells, name, ['latest', 'latest~1', 'HEAD', 'HEAD~1']);
    return printResult(io, options, cellReport(db, cell, cells), cellText);
  });
}

function showSweep(db: StoreDatabase, sweep: Sweep, options: ShowOptions, io: Io): ExitCode {
  const { sweepId } = sweep;
  const runs = cellRunsOf(db, [sweepId]);
  const plan = readStoredPlan(planOf(db, sweepId))?.plan ?? null;
  const keys = new Set([...(plan?.cells.map(({ cell }) => cell.key) ?? []), ...runs.map(({ cellKey }) => cellKey)]);
  const known = findCells(db, [...keys]);
  const cells = [...keys].flatMap((key) => known.get(key) ?? []);
  const disturbed = plan === null ? [] : disturbedCells(runs, plan.repeats);
  const failures = sweepFailures(db, sweepId, plan);
  // Builds are not runs of any cell.
  const kinds = [...runs.map(({ outcome }) => outcome), ...failures.filter(({ role }) => role === 'build')];
  const times = (wanted: string): number => kinds.filter(({ kind }) => kind === wanted).length;
  const counts = {
    measured: times('measured'),
    unfit: times('unfit'),
    failed: times('failed'),
    skipped: plan === null ? 0 : skippedRuns(db, sweep, plan),
    kept: 0,
    replaced: disturbed.reduce((sum, cell) => sum + cell.replaced, 0),
  };
  const { summaries, output } = sweepReport(db, { sweep, cells, runs, plan, counts, failures }, options);
  const axes =
    options.map === undefined ? undefined : mapAxes(options.map, summaries, namedShapesIn([planOf(db, sweepId)]));
  const mapped = axes === undefined ? null : mappedCells(summaries, runs, metricNamed(db, options.metric));
  for (const note of engineNotes(db, sweepId)) io.err(`note: ${note}\n`);
  const numbers = sweepNumbers(db, [sweepId]).get(sweepId) ?? NO_SWEEP_NUMBERS;
  return printResult(io, options, output, (_, look) => sweepText(output, numbers, summaries, look, mapped, axes));
}

/**
 * Values of a map: the requested metric, else the metric of the table.
 * @throws UsageError when no cell has the metric
 */
function mappedCells(cells: readonly CellRow[], runs: readonly CellRun[], requested: MetricId | null) {
  if (requested === null) return cells;
  const byCell = Map.groupBy(runs.filter(isMeasured), ({ cellKey }) => cellKey);
  const mapped = cells.flatMap(({ cell }) => {
    const values = (byCell.get(cell.key) ?? []).flatMap((run) => run.values[requested] ?? []);
    // A harness without the requested metric has no value.
    return values.length === 0 && cell.harness !== undefined && cell.harness.metric !== requested
      ? []
      : [{ cell, metric: requested, value: median(values) }];
  });
  if (mapped.some(({ value }) => value !== null)) return mapped;
  throw new UsageError(`--metric ${printable(metricOf(requested).label)}: no cell of this sweep has it`);
}

/** Planned runs whose engine could not be built. */
function skippedRuns(db: StoreDatabase, sweep: Sweep, plan: Plan): number {
  const failed = failedBuilds(db, sweep, plan.builds);
  const waiting = plan.runs.filter((run) => buildRefsOf(run).some((ref) => failed.has(ref)));
  return waiting.filter((run) => findOutcome(db, runIdOf(sweep.sweepId, run)) === null).length;
}

function showOneRun(db: StoreDatabase, runId: RunId, options: ShowOptions, io: Io): ExitCode {
  const run = storedRun(db, runId);
  if (options.samples === true) return printSamples(db, run, options, io);
  const cell = run.cellKey === null ? null : (findCells(db, [run.cellKey]).get(run.cellKey) ?? null);
  const stored = runLayers(db, runId);
  const layers = stored === null ? null : joinLayers(stored.profile, stored.layers);
  const plan = run.role === 'build' ? readStoredPlan(planOf(db, run.sweepId))?.plan : undefined;
  const build = run.role === 'build' ? buildLabel(plan ?? null, run) : null;
  const bound = remediedBound(db, run.sweepId, cell, run.bound);
  const metric = metricNamed(db, options.metric);
  // By default GPU compute time, or latency for runs without it.
  const queries =
    queryTimes(db, [runId], metric ?? 'gpuComputeMs') ??
    (metric === null ? queryTimes(db, [runId], 'latencyMs') : null);
  const steadiness = queries && steadinessOf(db, run.sweepId, cell, queries, options.shows ?? SHOWN_PERCENT);
  const output: DescribedRun = { schemaVersion: 1, ...run, bound, cell, build, steadiness, layers };
  return printResult(io, options, output, (_, look) => shownRunText(output, look, queries));
}

/** Prints CSV with the columns of `--exportTimes` and the numbers as trtexec wrote them. */
function printSamples(db: StoreDatabase, { runId }: ShownRun, options: ShowOptions, io: Io): ExitCode {
  const samples = runSamples(db, runId);
  if (samples === null) {
    const pruned = prunedFrom(db, runId);
    const why = pruned?.samples === true ? `: \`bench db prune\` deleted them on ${pruned.prunedAt.slice(0, 10)}` : '';
    throw new UsageError(`run ${runId.slice(0, 8)} has no samples${why}`);
  }
  const names = QUERY_TIME_COLUMNS.filter((name) => samples.columns[name] !== undefined);
  const columns = names.map((name) => [name, [...(samples.columns[name] ?? [])]] as const);
  return printResult(io, options, { schemaVersion: 1, runId, ...Object.fromEntries(columns) }, () => [
    names.join(','),
    ...Array.from({ length: samples.count }, (_, row) => columns.map(([, times]) => String(times[row])).join(',')),
  ]);
}

/** `bench show RUN --attach FILE...`: attaches files to a run, by their hash. */
export async function attach(run: string, files: readonly string[], options: ShowOptions, io: Io): Promise<ExitCode> {
  if (options.name !== undefined && files.length > 1) {
    throw new UsageError('--name is the name of one file: attach them one by one');
  }
  return withStoreToWrite(options, io, async ({ db, path }) => {
    const runId = namedRun(db, run);
    const context = { db, artefactsFolder: artefactsFolderOf(path), now: io.now };
    const attached: AttachOutput['attached'][number][] = [];
    for (const file of files) {
      io.signal.throwIfAborted();
      const name = options.name ?? basename(file);
      const { kind, sha256, bytes, attachedAt } = await attachFile(context, runId, resolve(io.cwd, file), name);
      attached.push({ name, kind, sha256, bytes, attachedAt });
    }
    return printResult<AttachOutput>(io, options, { schemaVersion: 1, runId, attached }, attachText);
  });
}

function attachText({ runId, attached }: AttachOutput): string[] {
  return attached.map(
    ({ name, bytes, sha256 }) =>
      `run ${runId.slice(0, 8)} has ${printable(name)} (${formatBytes(bytes)}, sha256 ${sha256.slice(0, 12)})`,
  );
}
