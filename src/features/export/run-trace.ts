import { UsageError } from '../../errors.ts';
import type { JoinedLayer, ProfiledEngine } from '../../layers/layer-info.ts';
import { storedRun } from '../../selection/by-name.ts';
import { profiledRun } from '../../selection/profiled-engine.ts';
import { findCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { layerRunsOfEngine } from '../../store/runs/layer-runs.ts';
import { prunedFrom } from '../../store/prune.ts';
import { runSamples, type ShownRun } from '../../store/runs/show-run.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { printable } from '../../text/printable.ts';
import { queryTracks } from './trace/query-tracks.ts';
import type { Trace, TraceGroup, TraceSlice, TraceTrack } from './trace/trace.ts';

export interface RunTrace {
  readonly runId: string;
  readonly trace: Trace;
  readonly slices: number;
  readonly notes: readonly string[];
}

/**
 * The queries of a run, and the layers of its engine: its own, else those that another run of the same engine saw.
 * @throws UsageError when nothing is known of either
 */
export function runTrace(db: StoreDatabase, runId: string): RunTrace {
  const run = storedRun(db, runId);
  const label = labelOf(db, run);
  const notes: string[] = [];
  const queries = queryGroup(db, run, label, notes);
  const layers = layerGroup(db, run, notes);
  const groups = [...queries, ...layers];
  if (groups.length === 0) throw nothingToTrace(db, run);
  if (queries.length === 0) notes.push('the run has no times of single queries: only its layers');
  const facts = {
    run: runId,
    cell: label,
    provenance: run.provenance,
    startedAt: run.startedAt ?? 'unknown',
    writtenBy: 'bench export',
  };
  const slices = groups.flatMap(({ tracks }) => tracks).reduce((sum, { count }) => sum + count, 0);
  return { runId, trace: { facts, groups }, slices, notes };
}

function labelOf(db: StoreDatabase, { cellKey, role }: ShownRun): string {
  const cell = cellKey === null ? undefined : findCells(db, [cellKey]).get(cellKey);
  return cell === undefined ? `${role} run` : cellLabel(cell);
}

function queryGroup(db: StoreDatabase, run: ShownRun, label: string, notes: string[]): TraceGroup[] {
  const times = runSamples(db, run.runId);
  const { hasStamps, tracks } = times === null ? { hasStamps: true, tracks: [] } : queryTracks(times);
  if (tracks.length === 0) return [];
  const laid = 'laid one behind the other: this trtexec wrote no start times, so no gap is known';
  if (!hasStamps) notes.push(`queries are ${laid}`);
  const name = `queries of ${label} (${run.provenance})${hasStamps ? '' : `, ${laid}`}`;
  return [{ name, tracks }];
}

function layerGroup(db: StoreDatabase, run: ShownRun, notes: string[]): TraceGroup[] {
  const engine = timedLayers(db, run);
  const track = engine === null ? null : layerTrack(engine.layers);
  if (engine === null || track === null) return [];
  if (engine.runId !== run.runId) {
    notes.push(`the layers are those that run ${engine.runId.slice(0, 8)} saw in the same engine`);
  }
  for (const note of engine.notes) notes.push(note);
  const name = `layers: means of ${engine.iterations ?? 0} profiled queries of run ${engine.runId.slice(0, 8)} (${engine.provenance}), no timeline`;
  return [{ name, tracks: [track] }];
}

function timedLayers(db: StoreDatabase, run: ShownRun): ProfiledEngine | null {
  const own = profiledRun(db, run.runId, run.runId);
  if (own !== null && own.iterations !== null) return own;
  const ids = [run.buildId, run.engineSha256].flatMap((id) => id ?? []);
  const other = layerRunsOfEngine(db, ids).find(
    ({ cellKey, iterations, provenance }) =>
      iterations !== null && cellKey === run.cellKey && provenance === run.provenance,
  );
  return other === undefined ? null : profiledRun(db, other.runId, run.runId);
}

function nothingToTrace(db: StoreDatabase, run: ShownRun): UsageError {
  const short = printable(run.runId.slice(0, 8));
  const pruned = prunedFrom(db, run.runId);
  if (pruned !== null && (pruned.samples || pruned.layers)) {
    const day = pruned.prunedAt.slice(0, 10);
    return new UsageError(
      `run ${short} has no times of queries or layers any more: \`bench db prune\` took them on ${day}`,
    );
  }
  return new UsageError(
    `run ${short} (${run.role}) has neither times of single queries (exportTimes in the matrix) nor of layers (bench run --profile)`,
  );
}

/**
 * The mean time of each layer, one behind the other in the order of the engine: where time goes, never when. Null
 * without times.
 */
function layerTrack(layers: readonly JoinedLayer[]): TraceTrack | null {
  let at = 0;
  const slices: TraceSlice[] = [];
  for (const layer of layers.toSorted((a, b) => a.index - b.index)) {
    const { averageMs, name } = layer;
    if (averageMs === null) continue;
    slices.push({ name, startMs: at, endMs: at + averageMs, facts: factsOf(layer, averageMs) });
    at += averageMs;
  }
  if (slices.length === 0) return null;
  return { name: 'mean time of each layer', count: slices.length, slices: () => slices };
}

function factsOf(layer: JoinedLayer, averageMs: number): Record<string, string | number> {
  const { medianMs, origins, percentage, precisionIn, precisionOut, tactic, type } = layer;
  const facts = {
    meanMs: averageMs,
    medianMs,
    percent: percentage,
    type,
    precisionIn,
    precisionOut,
    tactic,
    onnx: origins.length === 0 ? null : origins.join(', '),
  };
  return Object.fromEntries(Object.entries(facts).flatMap(([name, fact]) => (fact === null ? [] : [[name, fact]])));
}
