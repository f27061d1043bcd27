import { isMeasured } from '../records/run.ts';
import { type Cell, keyedCell, type KeyedCell, cellLabel } from '../records/cell.ts';
import { median } from '../statistics/order-statistics.ts';
import { joinLayers, type ProfiledEngine } from '../layers/profiled-engine.ts';
import { cellRunsOf } from '../store/runs/cell-runs.ts';
import { findCells } from '../store/cells.ts';
import { layerRun, layerRunsOfCell, layerRunsOfEngine, layerRunsOfFiles } from '../store/runs/layer-runs.ts';
import type { LayerRun } from '../store/runs/layer-runs.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { enginesOf } from '../store/runs/runs.ts';
import type { RunId, SweepId } from '../records/scalars.ts';
import { runLayers } from '../store/runs/run-details.ts';

/** Layers of a run's profile, with notes on what weakens them; null without one. */
export function profiledLayers(db: StoreDatabase, run: LayerRun) {
  const stored = runLayers(db, run.runId);
  if (stored === null) return null;
  const { layers, profile, total } = stored;
  return { layers: joinLayers(profile, layers), total, notes: overlapNotes(run.hints) };
}

export function profiledRun(db: StoreDatabase, runId: RunId, ref: string): ProfiledEngine | null {
  const run = layerRun(db, runId);
  return run && profiledFrom(db, run, ref);
}

/**
 * Layers of a cell's engine in some sweeps: from its own profile, else from another profile of the same engine.
 * @param sweepIds null for the newest profile in any sweep
 */
export function profiledCell(db: StoreDatabase, cell: KeyedCell, sweepIds: readonly SweepId[] | null, ref: string) {
  const [own] = layerRunsOfCell(db, cell.key, sweepIds);
  if (own !== undefined) return profiledFrom(db, own, ref);
  if (sweepIds === null) return null;
  const [ofBuild] = layerRunsOfEngine(db, enginesOf(db, sweepIds, cell.key), true);
  const run = ofBuild ?? layerRunsOfFiles(db, sweepIds).get(cell.key)?.[0];
  if (run === undefined) return null;
  const label = labelOf(cellOfRun(db, run)) ?? 'another cell';
  const untimed = 'no profile there: these are the layers of the build that saved its engine file, without times';
  const ofOther = `no profile of this cell there: this one is of ${label}, in sweep ${run.sweepId.slice(0, 8)}`;
  return profiledFrom(db, run, ref, run.iterations === null ? untimed : ofOther);
}

function cellOfRun(db: StoreDatabase, { cellKey }: LayerRun): KeyedCell | undefined {
  return cellKey === null ? undefined : findCells(db, [cellKey]).get(cellKey);
}

/** Exports without a log do not identify a cell. */
export function labelOf(cell: KeyedCell | undefined): string | null {
  return cell === undefined || cell.model === 'unnamed' ? null : cellLabel(cell);
}

function profiledFrom(db: StoreDatabase, run: LayerRun, ref: string, note?: string): ProfiledEngine | null {
  const profiled = profiledLayers(db, run);
  if (profiled === null) return null;
  const cell = cellOfRun(db, run);
  return {
    ...run,
    ...profiled,
    cudaGraph: run.cudaGraph && !run.hints.includes('graph_fail'),
    ref,
    cellLabel: labelOf(cell),
    gpuComputeMs: run.gpuComputeMs ?? (cell === undefined ? null : timedMedianMs(db, run, cell)),
    notes: [
      ...(cell?.harness === undefined ? [] : [`measured by ${cell.harness.name}, not by trtexec`]),
      ...(note === undefined ? [] : [note]),
      ...profiled.notes,
    ],
  };
}

const HINT_NOTES: Readonly<Record<string, string>> = {
  aux_streams: 'the engine uses auxiliary streams: layers overlap, the sum of their times is not a total',
  profiler_miss: 'the profiler missed layers: do not trust these times',
  graph_fail: 'a CUDA graph was requested but not used: launches may be part of these times',
};

/** Notes from trtexec on layer times that may be wrong. */
export function overlapNotes(hints: readonly string[]): string[] {
  return [...new Set(hints)].flatMap((hint) => HINT_NOTES[hint] ?? []);
}

/**
 * Median GPU time for a profile run without a summary, from the timed runs of its cell and sweep. If an excerpt does
 * not state its options, the only cell that is otherwise equal counts.
 */
function timedMedianMs(db: StoreDatabase, { sweepId }: LayerRun, cell: KeyedCell): number | null {
  const measured = cellRunsOf(db, [sweepId], cell.cudaGraph === null ? undefined : [cell.key]).filter(isMeasured);
  const cells = findCells(db, [...new Set(measured.map(({ cellKey }) => cellKey))]);
  const comparable = [...cells.values()].filter((other) => isAsFarAsStated(cell, other));
  const [timed, ...others] = comparable.some(({ key }) => key === cell.key) ? [cell] : comparable;
  if (timed === undefined || others.length > 0) return null;
  const own = measured.filter(({ cellKey }) => cellKey === timed.key);
  return median(own.flatMap(({ values }) => values.gpuComputeMs ?? []));
}

function isAsFarAsStated(cell: Cell, { key, ...other }: KeyedCell): boolean {
  const cudaGraph = cell.cudaGraph ?? other.cudaGraph;
  const dataTransfers = cell.dataTransfers ?? other.dataTransfers;
  const spinWait = cell.spinWait ?? other.spinWait;
  return keyedCell({ ...cell, cudaGraph, dataTransfers, spinWait }).key === key;
}
