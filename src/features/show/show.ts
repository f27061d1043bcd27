import { basename, resolve } from 'node:path';

import { attachFile } from '../../artefacts/attached.ts';
import { artefactsFolderOf } from '../../files/layout.ts';
import { engineNotes } from '../../selection/engines-of-cells.ts';
import { ensure, UsageError, type ExitCode } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import { QUERY_TIME_COLUMNS } from '../../trtexec/run-facts.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import { isOverlapping, type MetricId, metricOf } from '../../records/metric.ts';
import { median } from '../../statistics/order-statistics.ts';
import { buildLabel } from '../../engines/engine-state.ts';
import { namedShapesIn, readStoredPlan } from '../../run/stored-plan.ts';
import type { Sweep } from '../../records/sweep.ts';
import { joinLayers } from '../../layers/profiled-engine.ts';
import { cellReport, cellText } from './cell-text.ts';
import { type DescribedRun, shownRunText, steadinessOf } from './text.ts';
import { type CellRow, remediedBound, sweepReport, sweepText } from '../sweep/index.ts';
import { allCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { type ShownRun, findRunsByPrefix, queryTimes, runSamples } from '../../store/runs/show-run.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import { findingByPrefix, metricNamed } from '../../selection/by-name.ts';
import { namedCell, cellsInWords, namedRun, storedRun } from '../../selection/cell-points.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { mapAxes, shadeOf, type MapAxes, heatMaps } from '../../terminal/charts/heat-map.ts';
import { withStore, withStoreToWrite } from '../../cli/with-store.ts';
import { formatBytes, formatNumber, overlapNote } from '../../terminal/numbers.ts';
import type { AttachOutput } from './output.ts';
import { sweepsOfName } from '../../selection/sides.ts';
import type { ShowOptions } from './command.ts';
import type { RunId } from '../../records/scalars.ts';
import { runLayers } from '../../store/runs/run-details.ts';
import type { Look } from '../../terminal/look.ts';
import { captionLines } from '../../terminal/cell-columns.ts';

const SHOWN_PERCENT = 1;

export async function show(name: string, options: ShowOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async ({ db }) => {
    const [runId, ...moreRuns] = findRunsByPrefix(db, name);
    const [sweep, ...moreSweeps] = await sweepsOfName(db, name, io);
    const areSeveral = moreRuns.length + moreSweeps.length > 0 || (runId !== undefined && sweep !== undefined);
    const what = 'is the start of several ids, or the name of several sweeps: write more of it, or take an id of';
    ensure(!areSeveral, `${name} ${what} \`bench ls sweeps\``);
    if (runId !== undefined) return showOneRun(db, runId, options, io);
    const ofRun = [options.samples, options.map === undefined && options.metric, sweep && options.shows];
    const problem = '--samples, --shows, and --metric without --map, are of a run: `bench show CELL` lists its runs';
    ensure(!ofRun.some(Boolean), problem);
    if (sweep !== undefined) return showSweep(db, sweep, options, io);
    const cells = allCells(db);
    const finding = cellsInWords(cells, [name]).length > 0 ? null : findingByPrefix(db, name);
    if (finding !== null) return (await import('../check/index.ts')).showFinding(db, finding, options, io);
    const cell = namedCell(db, cells, name, ['latest', 'latest~1', 'HEAD', 'HEAD~1']);
    if (options.shows !== undefined) return showOneRun(db, namedRun(db, cell.key), options, io);
    return printResult(io, options, cellReport(db, cell, cells), cellText);
  });
}

function showSweep(db: StoreDatabase, sweep: Sweep, options: ShowOptions, io: Io): ExitCode {
  const { sweepId } = sweep;
  const report = sweepReport(db, sweep, readStoredPlan(planOf(db, sweepId))?.plan ?? null, options);
  const { output, runs, summaries } = report;
  const axes =
    options.map === undefined ? undefined : mapAxes(options.map, summaries, namedShapesIn([planOf(db, sweepId)]));
  const mapped = axes === undefined ? null : mappedCells(summaries, runs, metricNamed(db, options.metric));
  for (const note of engineNotes(db, sweepId)) io.err(`note: ${note}\n`);
  return printResult(io, options, output, (_, look) =>
    sweepText(report, look, mapped === null ? undefined : valueMap(mapped, look, axes)),
  );
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
  throw new UsageError(`--metric ${metricOf(requested).label}: no cell of this sweep has it`);
}

function showOneRun(db: StoreDatabase, runId: RunId, options: ShowOptions, io: Io): ExitCode {
  const run = storedRun(db, runId);
  if (options.samples === true) return printSamples(db, run, options, io);
  const { cell } = run;
  const stored = runLayers(db, runId);
  const layers = stored === null ? null : joinLayers(stored.profile, stored.layers);
  const build = run.role === 'build' ? buildLabel(readStoredPlan(planOf(db, run.sweepId))?.plan ?? null, run) : null;
  const bound = remediedBound(db, run.sweepId, cell, run.bound);
  const metric = metricNamed(db, options.metric);
  // By default GPU compute time, or latency for runs without it.
  const queries =
    queryTimes(db, [runId], metric ?? 'gpuComputeMs') ??
    (metric === null ? queryTimes(db, [runId], 'latencyMs') : null);
  const steadiness = queries && steadinessOf(db, run.sweepId, cell, queries, options.shows ?? SHOWN_PERCENT);
  const output: DescribedRun = { schemaVersion: 1, ...run, bound, build, steadiness, layers };
  return printResult(io, options, output, (_, look) => shownRunText(output, look, queries));
}

/** Prints CSV with the columns of `--exportTimes`, without copies that were off, and the numbers as trtexec wrote them. */
function printSamples(db: StoreDatabase, { runId }: ShownRun, options: ShowOptions, io: Io): ExitCode {
  const samples = runSamples(db, runId);
  ensure(samples !== null, `run ${runId.slice(0, 8)} has no samples: it kept none, or they were pruned or damaged`);
  const names = QUERY_TIME_COLUMNS.filter((name) => samples.columns[name]?.some((ms) => ms !== 0));
  const columns = names.map((name) => [name, [...(samples.columns[name] ?? [])]] as const);
  return printResult(io, options, { schemaVersion: 1, runId, ...Object.fromEntries(columns) }, () => [
    names.join(','),
    ...Array.from({ length: samples.count }, (_, row) => columns.map(([, times]) => String(times[row])).join(',')),
  ]);
}

/** `bench show RUN --attach FILE...`: attaches files to a run, by their hash. */
export async function attach(run: string, files: readonly string[], options: ShowOptions, io: Io): Promise<ExitCode> {
  ensure(options.name === undefined || files.length < 2, '--name is the name of one file: attach them one by one');
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
    return printResult<AttachOutput>(io, options, { schemaVersion: 1, runId, attached }, () =>
      attached.map(({ name, bytes, sha256 }) => {
        const facts = `${formatBytes(bytes)}, sha256 ${sha256.slice(0, 12)}`;
        return `run ${runId.slice(0, 8)} has ${printable(name)} (${facts})`;
      }),
    );
  });
}

export type MappedCell = Pick<CellRow, 'cell' | 'metric' | 'value'>;

/** Maps of values by two axes, one for each unit. Larger values are darker. */
export function valueMap(cells: readonly MappedCell[], look: Look, axes?: MapAxes): string[] {
  const maps = [...Map.groupBy(cells, ({ metric }) => metric)];
  return maps.flatMap(([metric, own], place) => [...(place === 0 ? [] : ['']), ...mapOf(metric, own, look, axes)]);
}

function mapOf(metric: MetricId, cells: readonly MappedCell[], look: Look, axes?: MapAxes): string[] {
  const values = cells.flatMap(({ value }) => value ?? []);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  // Steps have equal ratios if possible.
  const isRatio = low > 0;
  const shareOf = (value: number): number => {
    if (!(high > low)) return 0;
    return isRatio ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  };
  const tiles = cells.map(({ cell, value }) => ({
    cell,
    sign: value === null ? '✗' : shadeOf(shareOf(value)),
    number: `${isOverlapping(cell, metric) && value !== null ? '~' : ''}${formatNumber(value)}`,
    style: value === null ? look.style.bad : look.style.accent,
  }));
  const { label, unit } = metricOf(metric);
  const steps = isRatio ? ', in steps of the same ratio' : '';
  const ends = `░ from ${formatNumber(low)} to █ ${formatNumber(high)} ${unit}${steps}`;
  const scale = values.length === 0 ? '' : `: ${high > low ? ends : 'the same everywhere'}`;
  const missing = values.length < cells.length ? '; ✗ without a value' : '';
  const overlapping = cells.filter((one) => one.value !== null && isOverlapping(one.cell, metric));
  const legend = captionLines(`median ${label}, ${unit}${scale}${missing}`, look);
  const note = captionLines(overlapNote(overlapping.map(({ cell }) => cell.streams)), look);
  return [...heatMaps(tiles, look, axes), ...legend, ...note];
}
