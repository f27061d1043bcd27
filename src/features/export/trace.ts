import * as z from 'zod';

import { type Io, yieldToEventLoop } from '../../cli/io.ts';
import { writeOutput } from '../../cli/output-file.ts';
import { withStore } from '../../cli/with-store.ts';
import { ensure, EXIT_CODES, type ExitCode } from '../../errors.ts';
import type { JoinedLayer, ProfiledEngine } from '../../layers/profiled-engine.ts';
import { count as countSchema, id as idSchema, output as outputSchema } from '../../records/output-parts.ts';
import type { OutputOf } from '../../records/output-parts.ts';
import type { RunId } from '../../records/scalars.ts';
import { profiledRun } from '../../selection/profiled-engine.ts';
import { findCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { layerRunsOfEngine } from '../../store/runs/layer-runs.ts';
import { type ShownRun, runSamples } from '../../store/runs/show-run.ts';
import { cellLabel } from '../../records/cell.ts';
import { jsonLine, jsonText, printable } from '../../text/printable.ts';
import type { QueryTimeColumn, QueryTimes } from '../../trtexec/run-facts.ts';
import type { ExportOptions } from './command.ts';
import { namedRun, storedRun } from '../../selection/cell-points.ts';

export async function exportRun(name: string, options: ExportOptions, io: Io): Promise<ExitCode> {
  const { format, json, output, redact } = options;
  const file = output === undefined || output === '-' ? null : output;
  ensure(file !== null || json !== true, 'only one thing can go to standard output: name a file with --output');
  ensure(file === null || redact !== true, '--redact hides names in what is printed: leave --output out');
  return withStore(options, io, async (store) => {
    const { notes, runId, slices, ...trace } = runTrace(store.db, namedRun(store.db, name));
    const chunks = chromeTrace(trace);
    if (json !== true) for (const note of notes) io.err(`note: ${printable(note)}\n`);
    if (file === null) {
      for (const chunk of chunks) {
        io.out(chunk);
        await yieldToEventLoop(io);
      }
      return EXIT_CODES.fine;
    }
    const bytes = await writeOutput(file, chunks, io);
    const written: OutputOf<typeof exported> = { schemaVersion: 1, runId, format, file, bytes, slices, notes };
    if (json === true) io.out(`${jsonText(written)}\n`);
    else io.err(`wrote ${printable(file)}\n`);
    return EXIT_CODES.fine;
  });
}

/** Times are in milliseconds from the start of the trace. */
interface Slice {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly facts: Readonly<Record<string, string | number>>;
}

const CHUNK_CHARACTERS = 500_000;

/**
 * Chrome's Trace Event Format (JSON object form), with times in microseconds. In chunks, because a run may have millions
 * of events.
 */
function* chromeTrace({ facts, groups }: Pick<ReturnType<typeof runTrace>, 'facts' | 'groups'>): Generator<string> {
  let chunk = `{"displayTimeUnit":"ms","otherData":${jsonLine(facts)},"traceEvents":[`;
  let separator = '\n';
  for (const event of traceEvents(groups)) {
    chunk += separator + jsonLine(event);
    separator = ',\n';
    if (chunk.length < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = '';
  }
  yield `${chunk}\n]}\n`;
}

/** Metadata (`M`) and complete events (`X`). */
function* traceEvents(groups: ReturnType<typeof runTrace>['groups']) {
  for (const [group, { name, tracks }] of groups.entries()) {
    const pid = group + 1;
    yield { ph: 'M', name: 'process_name', pid, args: { name } };
    yield { ph: 'M', name: 'process_sort_index', pid, args: { sort_index: pid } };
    for (const [place, track] of tracks.entries()) {
      const tid = place + 1;
      yield { ph: 'M', name: 'thread_name', pid, tid, args: { name: track.name } };
      yield { ph: 'M', name: 'thread_sort_index', pid, tid, args: { sort_index: tid } };
      for (const { endMs, facts: args, name: part, startMs } of track.slices) {
        const [ts, dur] = [microseconds(startMs), microseconds(endMs - startMs)];
        yield { ph: 'X', name: part, cat: 'trtexec', pid, tid, ts, dur, args };
      }
    }
  }
}

/** Rounds to nanoseconds; the rest is conversion noise. */
function microseconds(ms: number): number {
  return Number((ms * 1000).toFixed(3));
}

/**
 * The queries of a run, and the layers of its engine from this run or another one.
 * @throws UsageError when neither is known
 */
function runTrace(db: StoreDatabase, runId: RunId) {
  const run = storedRun(db, runId);
  const { provenance, role, startedAt } = run;
  const cell = run.cellKey === null ? undefined : findCells(db, [run.cellKey]).get(run.cellKey);
  const label = cell === undefined ? `${role} run` : cellLabel(cell);
  const times = runSamples(db, runId);
  const tracks = times === null ? [] : queryTracks(times);
  const engine = timedLayers(db, run);
  const layers = engine === null ? [] : layerSlices(engine.layers);
  ensure(
    tracks.length + layers.length !== 0,
    `run ${runId.slice(0, 8)} (${role}) has neither start times of single queries (exportTimes in the matrix) nor times of layers (bench run --profile)`,
  );
  const source = `run ${engine?.runId.slice(0, 8)} (${engine?.provenance}), no timeline`;
  const means = `layers: means of ${engine?.iterations ?? 0} profiled queries of ${source}`;
  const layerTracks = layers.length === 0 ? [] : [{ name: 'mean time of each layer', slices: layers }];
  const groups = [
    { name: `queries of ${label} (${provenance})`, tracks },
    { name: means, tracks: layerTracks },
  ];
  return {
    runId,
    facts: { run: runId, cell: label, provenance, startedAt: startedAt ?? 'unknown', writtenBy: 'bench export' },
    groups: groups.filter((group) => group.tracks.length > 0),
    slices: tracks.reduce((sum, { slices }) => sum + slices.length, layers.length),
    notes: layers.length === 0 ? [] : (engine?.notes ?? []),
  };
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

/** Mean layer times in the order of the engine. They show how long each layer takes, not when it runs. */
function layerSlices(layers: readonly JoinedLayer[]) {
  let at = 0;
  return layers
    .toSorted((a, b) => a.index - b.index)
    .flatMap((layer) => {
      const { averageMs, medianMs, name, origins, percentage, precisionIn, precisionOut, tactic, type } = layer;
      if (averageMs === null) return [];
      const onnx = origins.length === 0 ? null : origins.join(', ');
      const about = { meanMs: averageMs, medianMs, percent: percentage, type, precisionIn, precisionOut, tactic, onnx };
      const known = Object.entries(about).flatMap(([fact, value]) => (value === null ? [] : [[fact, value] as const]));
      const startMs = at;
      at += averageMs;
      return [{ name, startMs, endMs: at, facts: Object.fromEntries(known) }];
    });
}

type QueryPart = readonly [name: string, start: QueryTimeColumn, end: QueryTimeColumn, duration?: QueryTimeColumn];

/** The length comes from a duration, which is more exact, or else from the difference of stamps. */
const PARTS: readonly QueryPart[] = [
  ['enqueue (host)', 'startEnqMs', 'endEnqMs'],
  ['H2D copy', 'startH2dMs', 'endH2dMs', 'h2dMs'],
  ['GPU compute', 'startComputeMs', 'endComputeMs', 'computeMs'],
  ['D2H copy', 'startD2hMs', 'endD2hMs', 'd2hMs'],
];

/**
 * Each part of a query has its own track. Overlapping queries (several streams) get more tracks. Empty if the export
 * has no stamps.
 */
export function queryTracks({ columns }: QueryTimes) {
  return PARTS.flatMap(([name, start, end, duration]) => {
    const [stamps, lengths] = [columns[end], duration === undefined ? undefined : columns[duration]];
    const slices = Array.from(columns[start] ?? [], (startMs, query) => {
      const endMs = lengths === undefined ? (stamps?.[query] ?? startMs) : startMs + (lengths[query] ?? 0);
      return { name, startMs, endMs: Math.max(startMs, endMs), facts: { query } };
    });
    return slices.some(({ endMs, startMs }) => endMs > startMs) ? tracksOf(name, slices) : [];
  });
}

function tracksOf(name: string, slices: readonly Slice[]) {
  const tracks: Slice[][] = [];
  for (const slice of slices.toSorted((a, b) => a.startMs - b.startMs)) {
    const latest = slice.startMs + roundingMs(slice.startMs);
    const track = tracks.find((own) => (own.at(-1)?.endMs ?? 0) <= latest);
    const last = track?.pop();
    // Stamps are rounded and durations are not, so a small disagreement is not an overlap.
    if (last === undefined) tracks.push([slice]);
    else track?.push({ ...last, endMs: Math.min(last.endMs, slice.startMs) }, slice);
  }
  return tracks.map((own, place) => ({ name: place === 0 ? name : `${name} (${place + 1})`, slices: own }));
}

const STAMP_DIGITS = 6;

/** Largest rounding error of the difference of two stamps, in ms: trtexec prints six significant digits. */
function roundingMs(stampMs: number): number {
  return 2 * 10 ** (Math.floor(Math.log10(Math.max(stampMs, 1))) + 1 - STAMP_DIGITS);
}

const written = { format: z.literal('chrome-trace'), file: z.string(), bytes: countSchema, slices: countSchema };
const notes = z.array(z.string());

export const exported = outputSchema('bench export --output FILE --json', { runId: idSchema, ...written, notes });
