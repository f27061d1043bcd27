import { and, eq, inArray, notInArray, or, type SQL, sql } from 'drizzle-orm';

import type { EngineLayer } from '../../layers/layer-info.ts';
import type { StoreDatabase } from '../file/open.ts';
import { decodeLayers } from './blob-codecs.ts';
import { ofSweep } from './runs.ts';
import { cells, layerProfiles, runHints, runs, sweeps, timeStatistics } from '../schema.ts';
import { newestRunFirst } from '../sweeps/sweep-order.ts';
import { REMARKS_FOR_NUMBERS } from '../../trtexec/log/hints.ts';
import type { BuildId, CellKey, RunId, SweepId } from '../../records/scalars.ts';

export type LayerRun = ReturnType<typeof select>[number];

/** Layer data, newest first; with times before without. */
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
    .innerJoin(sweeps, eq(sweeps.sweepId, runs.sweepId))
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
  const rows = db
    .select()
    .from(runHints)
    .where(and(inArray(runHints.runId, [...runIds]), notInArray(runHints.hint, [...REMARKS_FOR_NUMBERS])))
    .all();
  const byRun = Map.groupBy(rows, ({ runId }) => runId);
  return new Map([...byRun].map(([runId, found]) => [runId, found.map(({ hint }) => hint)]));
}

/** @param sweepIds null for any sweep */
export function layerRunsOfCell(db: StoreDatabase, cellKey: CellKey, sweepIds: readonly SweepId[] | null): LayerRun[] {
  return select(
    db,
    and(ofSweep, eq(runs.cellKey, cellKey), sweepIds === null ? undefined : inArray(runs.sweepId, [...sweepIds])),
  );
}

/**
 * The same for many cells, in one pass over the runs of the sweeps, because the runs of a cell are spread over the
 * whole file.
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
  const isOne = sql`${runs.runId} in (select value from json_each(${JSON.stringify(ids)}))`;
  return Map.groupBy(select(db, isOne, ids.length), ({ cellKey }) => cellKey);
}

/** @param pairs true to include engines that were measured in pairs */
export function layerRunsOfEngine(db: StoreDatabase, engines: readonly string[], pairs = false): LayerRun[] {
  if (engines.length === 0) return [];
  const isEngine = or(inArray(runs.engineSha256, [...engines]), inArray(runs.buildId, [...engines]));
  return select(db, pairs ? isEngine : and(isEngine, ofSweep));
}

/** Profiles of the same network in other cells of the sweeps: with another batch, or without a CUDA graph. */
export function layerRunsOfModel(
  db: StoreDatabase,
  model: string,
  precision: (typeof cells.$inferSelect)['precision'],
  sweepIds: readonly SweepId[],
): LayerRun[] {
  return select(
    db,
    and(ofSweep, eq(cells.model, model), eq(cells.precision, precision), inArray(runs.sweepId, [...sweepIds])),
  );
}

export function layerRun(db: StoreDatabase, runId: RunId): LayerRun | null {
  return select(db, eq(runs.runId, runId))[0] ?? null;
}

/** The layers of a build from its output, else from a run; null if unknown. */
export function layersOfBuild(db: StoreDatabase, buildId: BuildId): readonly EngineLayer[] | null {
  const rows = db
    .select({ role: runs.role, data: layerProfiles.data })
    .from(layerProfiles)
    .innerJoin(runs, eq(runs.runId, layerProfiles.runId))
    .where(eq(runs.buildId, buildId))
    .orderBy(runs.startedAt, runs.runId)
    .limit(MOST)
    .all();
  const row = rows.find(({ role }) => role === 'build') ?? rows[0];
  return row === undefined ? null : decodeLayers(row.data).layers;
}
