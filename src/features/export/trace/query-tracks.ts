import type { QueryTimeColumn, QueryTimes } from '../../../trtexec/run-facts.ts';
import type { TraceSlice, TraceTrack } from './trace.ts';

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
  /** False when the export has no stamps: then queries are laid one behind the other, and no gap is known. */
  readonly hasStamps: boolean;
}

/**
 * Each part of each query on a track of its own; queries that overlap, as with several streams, go to further tracks.
 */
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
  const lanes: number[][] = [];
  for (const query of order) {
    const from = startMs[query] ?? 0;
    const lane = lanes.find((queries) => {
      const last = queries.at(-1);
      return last === undefined || (endMs[last] ?? 0) <= from + roundingMs(from);
    });
    const last = lane?.at(-1);
    // Stamps are rounded, durations are not: what they disagree in is no overlap.
    if (last !== undefined) endMs[last] = Math.min(endMs[last] ?? from, from);
    if (lane === undefined) lanes.push([query]);
    else lane.push(query);
  }
  return lanes.map((queries, place) => ({
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

/** trtexec prints six significant digits: two stamps may both be half a step off. */
export function roundingMs(stampMs: number): number {
  const digits = Math.floor(Math.log10(Math.max(stampMs, 1))) + 1;
  return 2 * 10 ** (digits - STAMP_DIGITS);
}
