import { type SQL, and, eq, or, sql } from 'drizzle-orm';

import type { KeyedCell } from '../../records/cell.ts';
import { UNKNOWN_ENVIRONMENT } from '../../records/environment.ts';
import type { MetricValues } from '../../records/metric.ts';
import type { CellKey, Immutable, RunId, SweepId } from '../../records/scalars.ts';
import { findFlag, flagValue } from '../../trtexec/flags/flag-table.ts';
import { importedBuilds, loadedEngines, statedArguments } from '../builds/builds.ts';
import { isAmong, isAmongOrAny, ofSweep, ON } from '../conditions.ts';
import type { StoreDatabase } from '../file/open.ts';
import { builds, cells, invocations, layerProfiles, runs, sweeps, timeStatistics } from '../schema.ts';
import { findEnvironments } from '../sweeps/environments.ts';
import { newestRunFirst } from '../sweeps/sweep-order.ts';
import { cellRunsOf } from './cell-runs.ts';
import { statisticOf } from './run-values.ts';
import { hintsOf, telemetryOf } from './run-details.ts';

export type LayerRun = ReturnType<typeof select>[number];

/** Layer data with times, then without; newest first in each group. */
function select(db: StoreDatabase, where: SQL | undefined) {
  const { runId: id, sweepId, cellKey, role, startedAt, provenance, buildId } = runs;
  const ofRun = { runId: id, sweepId, cellKey, role, startedAt, provenance, buildId };
  const rows = db
    .select({
      ...ofRun,
      cudaGraph: cells.cudaGraph,
      /** Profiled queries; null when only names and kernels are known. */
      iterations: layerProfiles.iterations,
      /** Median of the timed part of the same run, without the profiler, in ms. */
      gpuComputeMs: timeStatistics.medianMs,
    })
    .from(layerProfiles)
    .innerJoin(runs, eq(runs.runId, layerProfiles.runId))
    .leftJoin(cells, eq(cells.cellKey, runs.cellKey))
    .leftJoin(timeStatistics, and(eq(timeStatistics.runId, runs.runId), eq(timeStatistics.metric, 'gpuCompute')))
    .innerJoin(sweeps, ON.sweep)
    .where(where)
    .orderBy(newestRunFirst)
    .all();
  const ids = rows.map(({ runId }) => runId);
  const hints = hintsOf(db, ids);
  return rows
    .map((row) => ({ ...row, hints: hints.get(row.runId) ?? [] }))
    .toSorted((a, b) => Number(b.iterations !== null) - Number(a.iterations !== null));
}

/** @param sweepIds null for any sweep */
export function layerRunsOfCell(db: StoreDatabase, cellKey: CellKey, sweepIds: readonly SweepId[] | null): LayerRun[] {
  return select(db, and(ofSweep, eq(runs.cellKey, cellKey), isAmongOrAny(runs.sweepId, sweepIds)));
}

export function layerRunsOfCells(
  db: StoreDatabase,
  cellKeys: readonly CellKey[],
  sweepIds: readonly SweepId[],
): Map<CellKey | null, LayerRun[]> {
  // `+` bypasses the index of cells, because the runs of a cell are spread over the whole file.
  const isOfCell = sql`+${isAmong(runs.cellKey, cellKeys)}`;
  const all = select(db, and(ofSweep, isOfCell, isAmong(runs.sweepId, sweepIds)));
  return Map.groupBy(all, ({ cellKey }) => cellKey);
}

/** @param pairs true to include engines that were measured in pairs */
export function layerRunsOfEngine(db: StoreDatabase, engines: readonly string[], pairs = false): LayerRun[] {
  if (engines.length === 0) return [];
  const isEngine = or(isAmong(runs.engineSha256, engines), isAmong(runs.buildId, engines));
  return select(db, pairs ? isEngine : and(isEngine, ofSweep));
}

/** Profiles of imported engines by cell: of all runs that loaded the same file in the same sweep. */
export function layerRunsOfFiles(db: StoreDatabase, sweepIds: readonly SweepId[]): Map<CellKey, LayerRun[]> {
  const byFile = Map.groupBy(loadedEngines(db, sweepIds), ({ path, sweepId }) => `${sweepId} ${path}`);
  const found = [...byFile.values()].flatMap((loaded) => {
    const ofFile = select(db, isAmong(runs.runId, new Set(loaded.map(({ runId }) => runId))));
    return loaded.map(({ cellKey }) => [cellKey, ofFile] as const);
  });
  return new Map(found);
}

export function layerRun(db: StoreDatabase, runId: RunId): LayerRun | null {
  return select(db, eq(runs.runId, runId))[0] ?? null;
}

interface ExplainedCell {
  readonly cell: KeyedCell;
  readonly sweepIds: readonly SweepId[];
  /** Null for all timed runs of the cell in the sweeps. */
  readonly runId: RunId | null;
}

/** Fields of a cell, which TensorRT 11 spells differently. */
const SWITCH = /^--(?:(?:use|no)(?:CudaGraph|SpinWait)|(?:include|no)DataTransfers)$/;

type StoredRun = Immutable<ReturnType<typeof explainedRuns>[number]>;

/** One timed run with everything that may explain its number. Null: unknown. */
export type ExplainedRun = Pick<StoredRun, 'boundBy' | 'flags' | 'outcome' | 'runId' | 'sweepId'> &
  Pick<StoredRun, 'gpuComputeMeanMs' | 'hints' | 'telemetry' | 'environment' | 'engine' | 'runFlags' | 'inputs'> &
  Pick<StoredRun, 'importNotes' | 'variables'> &
  Pick<StoredRun['values'], 'gpuComputeMs' | 'latencyMs' | 'throughputQps' | 'enqueueMs'> &
  Pick<StoredRun['values'], 'h2dMs' | 'd2hMs' | 'cvPercent' | 'gpuBusy'> &
  Partial<MetricValues>;

/** The timed runs of a cell with everything that may explain their numbers, oldest first. */
export function explainedRuns(db: StoreDatabase, { cell, runId: only, sweepIds }: ExplainedCell) {
  const timed = cellRunsOf(db, sweepIds, [cell.key]).filter(
    // A report of another harness has latencies, and none of trtexec's own numbers.
    ({ outcome, role, runId, values }) =>
      role === 'timed' &&
      (only === null || only === runId) &&
      (values.throughputQps !== null || outcome.kind === 'measured'),
  );
  const ids = timed.map(({ runId }) => runId);
  const { runId, provenance, notes, engineSha256: sha256 } = runs;
  const [{ argv, banner, env }, { flags, modelSha256 }] = [invocations, builds];
  const ofRun = { runId, provenance, notes, gpuComputeMeanMs: statisticOf('gpuCompute', 'meanMs') };
  const rows = db
    .select({ ...ofRun, argv, banner, env, sha256, modelSha256, flags })
    .from(runs)
    .innerJoin(invocations, ON.invocation)
    .leftJoin(builds, ON.build)
    .where(isAmong(runId, ids))
    .all();
  const stored = new Map(rows.map((row) => [row.runId, row]));
  const [hints, telemetry] = [hintsOf(db, ids), telemetryOf(db, ids)];
  const environments = findEnvironments(db, [...new Set(timed.map(({ environmentId }) => environmentId))]);
  const built = importedBuilds(db, sweepIds);
  return timed.flatMap((run) => {
    const row = stored.get(run.runId);
    if (row === undefined) return [];
    const parts = statedArguments(row);
    const path = flagValue(parts, '--loadEngine') ?? flagValue(parts, '--saveEngine');
    // Build options of an imported run, which is not linked to its engine. A process that loaded no engine built one.
    const isBuilder = flagValue(parts, '--onnx') !== null && flagValue(parts, '--loadEngine') === null;
    const argvOfBuild = built.get(path ?? '')?.argv ?? (isBuilder ? parts : null);
    const flagsOfBuild = row.flags?.toSorted() ?? (argvOfBuild && flagsIn(argvOfBuild, ['build', 'both']));
    const identity = { buildId: run.buildId, sha256: row.sha256, path, modelSha256: row.modelSha256 };
    /** `path` in the command line is the only identification of an engine that bench did not build. */
    const engine = { ...identity, flags: flagsOfBuild };
    return {
      ...run,
      gpuComputeMeanMs: row.gpuComputeMeanMs,
      hints: hints.get(run.runId) ?? [],
      telemetry: telemetry.get(run.runId) ?? null,
      environment: environments.get(run.environmentId) ?? UNKNOWN_ENVIRONMENT,
      engine,
      runFlags: flagsIn(parts, ['inference', 'both']).filter((flag) => !SWITCH.test(flag)),
      variables: Object.entries(row.env).flatMap(([name, value]) => (OF_GPU.test(name) ? [] : `${name}=${value}`)),
      inputs: cell.inputs,
      importNotes: row.provenance === 'imported' ? row.notes : [],
    };
  });
}

/** Variables that choose the GPU, which the environment names. */
const OF_GPU = /VISIBLE_DEVICES|DEVICE_ORDER/;

/** Options for duration, repetition and outputs, which do not change what is measured. */
const NOT_COMPARED = new Set([
  '--loadEngine',
  '--saveEngine',
  '--onnx',
  '--timingCacheFile',
  '--warmUp',
  '--duration',
  '--iterations',
  '--skipInference',
  '--profilingVerbosity',
  '--verbose',
  '--separateProfileRun',
]);

function flagsIn(argv: readonly string[], phases: readonly string[]): string[] {
  return argv
    .filter((part) => {
      const name = part.split('=', 1)[0] ?? '';
      const flag = findFlag(name);
      return flag !== undefined && !flag.isPath && !NOT_COMPARED.has(name) && phases.includes(flag.phase);
    })
    .toSorted();
}
