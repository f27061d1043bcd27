import { UsageError } from '../../errors.ts';
import type { JoinedLayer, ProfiledEngine } from '../../layers/profiled-engine.ts';
import { storedRun } from '../../selection/by-name.ts';
import { profiledRun } from '../../selection/profiled-engine.ts';
import { findCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { layerRunsOfEngine } from '../../store/runs/layer-runs.ts';
import { prunedFrom } from '../../store/prune.ts';
import { runSamples, type ShownRun } from '../../store/runs/show-run.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { printable } from '../../text/printable.ts';
import type { TraceGroup, TraceSlice, TraceTrack } from './trace.ts';
import type { QueryTimeColumn, QueryTimes } from '../../trtexec/run-facts.ts';
import type { RunId } from '../../records/scalars.ts';

/**
 * The queries of a run, and the layers of its engine from it or from another run.
 * @throws UsageError when neither is known
 */
export function runTrace(db: StoreDatabase, runId: RunId) {
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

/** Mean layer times in engine order: where time goes, not when. Null without times. */
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

interface Kind {
  readonly name: string;
  readonly start: QueryTimeColumn;
  readonly end: QueryTimeColumn;
  /** More exact than the difference of the stamps; null where trtexec writes none. */
  readonly duration: QueryTimeColumn | null;
}

const KINDS: readonly Kind[] = [
  { name: 'enqueue (host)', start: 'startEnqMs', end: 'endEnqMs', duration: null },
  { name: 'H2D copy', start: 'startH2dMs', end: 'endH2dMs', duration: 'h2dMs' },
  { name: 'GPU compute', start: 'startComputeMs', end: 'endComputeMs', duration: 'computeMs' },
  { name: 'D2H copy', start: 'startD2hMs', end: 'endD2hMs', duration: 'd2hMs' },
];

export interface QueryTracks {
  readonly tracks: readonly TraceTrack[];
  /** False when the export has no stamps: queries are laid end to end, without gaps. */
  readonly hasStamps: boolean;
}

/** Each part of a query on a track of its own; overlapping queries (several streams) get further tracks. */
export function queryTracks(times: QueryTimes): QueryTracks {
  const { columns } = times;
  const hasStamps = columns.startComputeMs !== undefined;
  const tracks = KINDS.flatMap((kind) => {
    const spans = hasStamps ? stampedSpans(kind, times) : laidSpans(kind, times);
    return spans === null ? [] : tracksOf(kind.name, spans);
  });
  return { tracks, hasStamps };
}

interface Spans {
  readonly startMs: Float64Array;
  readonly endMs: Float64Array;
}

function stampedSpans({ duration, end, start }: Kind, { columns }: QueryTimes): Spans | null {
  const [startMs, stampMs] = [columns[start], columns[end]];
  const lengthMs = duration === null ? undefined : columns[duration];
  if (startMs === undefined || (stampMs === undefined && lengthMs === undefined)) return null;
  const endMs = startMs.map((from, query) =>
    Math.max(from, lengthMs === undefined ? (stampMs?.[query] ?? from) : from + (lengthMs[query] ?? 0)),
  );
  return endMs.some((to, query) => to > (startMs[query] ?? 0)) ? { startMs, endMs } : null;
}

const PARTS = ['h2dMs', 'computeMs', 'd2hMs'] as const;

function laidSpans({ duration }: Kind, { columns, count }: QueryTimes): Spans | null {
  const own = duration === null ? undefined : columns[duration];
  if (own === undefined || own.every((value) => value === 0)) return null;
  const startMs = new Float64Array(count);
  const endMs = new Float64Array(count);
  for (let query = 0, at = 0; query < count; query += 1) {
    for (const part of PARTS) {
      const length = columns[part]?.[query] ?? 0;
      if (part === duration) {
        startMs[query] = at;
        endMs[query] = at + length;
      }
      at += length;
    }
  }
  return { startMs, endMs };
}

function tracksOf(name: string, { endMs, startMs }: Spans): TraceTrack[] {
  const order = Uint32Array.from(startMs.keys()).toSorted((a, b) => (startMs[a] ?? 0) - (startMs[b] ?? 0));
  const tracks: number[][] = [];
  for (const query of order) {
    const from = startMs[query] ?? 0;
    const track = tracks.find((queries) => {
      const last = queries.at(-1);
      return last === undefined || (endMs[last] ?? 0) <= from + roundingMs(from);
    });
    const last = track?.at(-1);
    // Stamps are rounded, durations are not: their disagreement is no overlap.
    if (last !== undefined) endMs[last] = Math.min(endMs[last] ?? from, from);
    if (track === undefined) tracks.push([query]);
    else track.push(query);
  }
  return tracks.map((queries, place) => ({
    name: place === 0 ? name : `${name} (${place + 1})`,
    count: queries.length,
    slices: function* slices(): Iterable<TraceSlice> {
      for (const query of queries) {
        yield { name, startMs: startMs[query] ?? 0, endMs: endMs[query] ?? 0, facts: { query } };
      }
    },
  }));
}

const STAMP_DIGITS = 6;

/** trtexec prints six significant digits: two stamps may each be half a step off. */
export function roundingMs(stampMs: number): number {
  const digits = Math.floor(Math.log10(Math.max(stampMs, 1))) + 1;
  return 2 * 10 ** (digits - STAMP_DIGITS);
}
