import { type SQL, and, eq, isNotNull, notInArray, or } from 'drizzle-orm';

import type { CellInputs } from '../../records/cell.ts';
import { UNKNOWN_ENVIRONMENT } from '../../records/environment.ts';
import type { CellKey, Immutable, RunId, SweepId } from '../../records/scalars.ts';
import { findFlag, flagValue } from '../../trtexec/flags/flag-table.ts';
import { REMARKS_FOR_NUMBERS } from '../../trtexec/log/hints.ts';
import { importedBuilds, statedArguments } from '../builds/builds.ts';
import { isAmong, isAmongOrAny, ofSweep, ON } from '../conditions.ts';
import type { StoreDatabase } from '../file/open.ts';
import {
  builds,
  cells,
  invocations,
  layerProfiles,
  measurements,
  runHints,
  runs,
  sweeps,
  timeStatistics,
} from '../schema.ts';
import { findEnvironments } from '../sweeps/environments.ts';
import { newestRunFirst } from '../sweeps/sweep-order.ts';
import { flagsOf, telemetryOf } from './run-facts.ts';
import { centreValue, printedValue, statisticOf } from './run-values.ts';
import { outcomeFrom } from './runs.ts';

export type LayerRun = ReturnType<typeof select>[number];

/** Layer data with times, then without; newest first in each group. */
function select(db: StoreDatabase, where: SQL | undefined, most: number = MOST) {
  const rows = db
    .select({
      runId: runs.runId,
      sweepId: runs.sweepId,
      cellKey: runs.cellKey,
      role: runs.role,
      startedAt: runs.startedAt,
      provenance: runs.provenance,
      buildId: runs.buildId,
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
    .limit(most)
    .all();
  const ids = rows.map(({ runId }) => runId);
  const hints = hintsOf(db, ids);
  return rows
    .map((row) => ({ ...row, hints: hints.get(row.runId) ?? [] }))
    .toSorted((a, b) => Number(b.iterations !== null) - Number(a.iterations !== null));
}

const MOST = 200;

export function hintsOf(db: StoreDatabase, runIds: readonly RunId[]): Map<string, string[]> {
  const which = and(isAmong(runHints.runId, runIds), notInArray(runHints.hint, [...REMARKS_FOR_NUMBERS]));
  const rows = db.select().from(runHints).where(which).all();
  const byRun = Map.groupBy(rows, ({ runId }) => runId);
  return new Map([...byRun].map(([runId, found]) => [runId, found.map(({ hint }) => hint)]));
}

/** @param sweepIds null for any sweep */
export function layerRunsOfCell(db: StoreDatabase, cellKey: CellKey, sweepIds: readonly SweepId[] | null): LayerRun[] {
  return select(db, and(ofSweep, eq(runs.cellKey, cellKey), isAmongOrAny(runs.sweepId, sweepIds)));
}

/**
 * Like `layerRunsOfCell` for many cells, in one pass over the runs of the sweeps, because the runs of a cell are spread
 * over the whole file.
 */
export function layerRunsOfCells(
  db: StoreDatabase,
  cellKeys: readonly CellKey[],
  sweepIds: readonly SweepId[],
): Map<CellKey | null, LayerRun[]> {
  const ids = db.$client
    .prepare<[string, string], string>(
      `SELECT r.run_id FROM json_each(?) e CROSS JOIN runs r ON r.sweep_id = e.value
       CROSS JOIN layer_profiles p ON p.run_id = r.run_id
       WHERE r.role <> 'pair' AND r.cell_key IN (SELECT value FROM json_each(?))`,
    )
    .pluck()
    .all(JSON.stringify(sweepIds), JSON.stringify(cellKeys));
  return Map.groupBy(select(db, isAmong(runs.runId, ids), ids.length), ({ cellKey }) => cellKey);
}

/** @param pairs true to include engines that were measured in pairs */
export function layerRunsOfEngine(db: StoreDatabase, engines: readonly string[], pairs = false): LayerRun[] {
  if (engines.length === 0) return [];
  const isEngine = or(isAmong(runs.engineSha256, engines), isAmong(runs.buildId, engines));
  return select(db, pairs ? isEngine : and(isEngine, ofSweep));
}

/** Profiles of the same network in other cells of the sweeps: with another batch, or without a CUDA graph. */
export function layerRunsOfModel(
  db: StoreDatabase,
  model: string,
  precision: (typeof cells.$inferSelect)['precision'],
  sweepIds: readonly SweepId[],
): LayerRun[] {
  const isOfModel = and(eq(cells.model, model), eq(cells.precision, precision));
  return select(db, and(ofSweep, isOfModel, isAmong(runs.sweepId, sweepIds)));
}

export function layerRun(db: StoreDatabase, runId: RunId): LayerRun | null {
  return select(db, eq(runs.runId, runId))[0] ?? null;
}

interface ExplainedCell {
  readonly cellKey: CellKey;
  readonly inputs: CellInputs;
  readonly sweepIds: readonly SweepId[];
  /** Null for all timed runs of the cell in the sweeps. */
  readonly runId: RunId | null;
}

type StoredRun = Omit<ReturnType<typeof explainedRuns>[number], 'gpuCompute' | 'latency'>;

/** One timed run with everything that may explain its number. Null: unknown. */
export type ExplainedRun = Immutable<StoredRun> & Readonly<Record<'gpuComputeMs' | 'latencyMs', number | null>>;

/**
 * The timed runs of a cell with everything that may explain their numbers, oldest first. They have both kinds of GPU
 * time, because the runs of both sides decide which one counts.
 */
export function explainedRuns(db: StoreDatabase, cell: ExplainedCell) {
  const isChosen = cell.runId === null ? isAmong(runs.sweepId, cell.sweepIds) : eq(runs.runId, cell.runId);
  // A report of another harness has latencies, and none of trtexec's own numbers.
  const hasValues = or(isNotNull(measurements.runId), eq(runs.outcome, 'measured'));
  const { outcome: kind, reason: why, provenance, notes, environmentId: ofMachine, buildId: build } = runs;
  const ofRun = { outcome: kind, reason: why, provenance, notes, environmentId: ofMachine, buildId: build };
  const { argv, banner } = invocations;
  const ofBuild = { sha256: runs.engineSha256, modelSha256: builds.modelSha256, flags: builds.flags };
  const rows = db
    .select({
      runId: runs.runId,
      sweepId: runs.sweepId,
      stored: { ...ofRun, ...ofBuild, argv, banner },
      gpuCompute: { printed: printedValue('gpuComputeMs'), centre: centreValue('gpuComputeMs') },
      latency: { printed: printedValue('latencyMs'), centre: centreValue('latencyMs') },
      gpuComputeMeanMs: statisticOf('gpuCompute', 'meanMs'),
      throughputQps: measurements.throughputQps,
      enqueueMs: printedValue('enqueueMs'),
      h2dMs: statisticOf('h2d', 'medianMs'),
      d2hMs: statisticOf('d2h', 'medianMs'),
      cvPercent: measurements.cvPercent,
      gpuBusy: measurements.gpuBusy,
      boundBy: measurements.boundBy,
    })
    .from(runs)
    .leftJoin(measurements, ON.measurement)
    .innerJoin(invocations, ON.invocation)
    .leftJoin(builds, ON.build)
    .where(and(eq(runs.cellKey, cell.cellKey), eq(runs.role, 'timed'), isChosen, hasValues))
    .orderBy(runs.startedAt, runs.repeat, runs.runId)
    .all();
  const ids = rows.map(({ runId }) => runId);
  const hints = hintsOf(db, ids);
  const flags = flagsOf(db, isAmong(runs.runId, ids));
  const telemetry = telemetryOf(db, ids);
  const environments = findEnvironments(db, [...new Set(rows.map(({ stored }) => stored.environmentId))]);
  const built = importedBuilds(db, cell.sweepIds);
  return rows.map(({ stored, ...run }) => {
    const parts = statedArguments(stored);
    const path = flagValue(parts, '--loadEngine') ?? flagValue(parts, '--saveEngine');
    const { buildId, environmentId, modelSha256, outcome, reason, sha256 } = stored;
    const flagsOfBuild = stored.flags?.toSorted() ?? builtFlags(built.get(path ?? '')?.argv ?? ownBuild(parts));
    return {
      ...run,
      outcome: outcomeFrom(outcome, reason),
      hints: hints.get(run.runId) ?? [],
      flags: flags.get(run.runId) ?? [],
      telemetry: telemetry.get(run.runId) ?? null,
      environment: environments.get(environmentId) ?? UNKNOWN_ENVIRONMENT,
      /** `path` in the command line is the only identification of an engine that bench did not build. */
      engine: { buildId, sha256, path, modelSha256, flags: flagsOfBuild },
      runFlags: flagsIn(parts, ['inference', 'both']),
      inputs: cell.inputs,
      importNotes: stored.provenance === 'imported' ? stored.notes : [],
    };
  });
}

/** Build options of an imported run, which is not linked to its engine. */
function builtFlags(argv: readonly string[] | null): readonly string[] | null {
  return argv === null ? null : flagsIn(argv, ['build', 'both']);
}

/** A process that loaded no engine built one. */
function ownBuild(argv: readonly string[]): readonly string[] | null {
  const isBuilt = flagValue(argv, '--onnx') !== null && flagValue(argv, '--loadEngine') === null;
  return isBuilt ? argv : null;
}

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
