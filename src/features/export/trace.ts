import { jsonLine } from '../../text/printable.ts';

export const EXPORT_FORMATS = ['chrome-trace', 'perfetto'] as const;

/** Milliseconds from the start of the trace. */
export interface TraceSlice {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly facts: Readonly<Record<string, string | number>>;
}

/** Slices do not overlap, in order. */
export interface TraceTrack {
  readonly name: string;
  readonly count: number;
  /** May be called repeatedly; large runs are never held as objects. */
  readonly slices: () => Iterable<TraceSlice>;
}

export interface TraceGroup {
  readonly name: string;
  readonly tracks: readonly TraceTrack[];
}

export interface Trace {
  readonly facts: Readonly<Record<string, string>>;
  readonly groups: readonly TraceGroup[];
}

const CHUNK_CHARACTERS = 1 << 16;

/**
 * Chrome's Trace Event Format (JSON object form): complete events (`X`) and metadata (`M`), times in microseconds.
 * Streamed, as a run may have millions of events.
 */
export function* chromeTrace(trace: Trace): Generator<string> {
  let text = `{"displayTimeUnit":"ms","otherData":${jsonLine(trace.facts)},"traceEvents":[`;
  let isFirst = true;
  for (const event of events(trace)) {
    text += `${isFirst ? '' : ','}\n${jsonLine(event)}`;
    isFirst = false;
    if (text.length >= CHUNK_CHARACTERS) {
      yield text;
      text = '';
    }
  }
  yield `${text}\n]}\n`;
}

function* events({ groups }: Trace): Generator<object> {
  for (const [groupPlace, group] of groups.entries()) {
    const pid = groupPlace + 1;
    yield metadata('process_name', { pid }, { name: group.name });
    yield metadata('process_sort_index', { pid }, { sort_index: pid });
    for (const [trackPlace, track] of group.tracks.entries()) {
      const tid = trackPlace + 1;
      yield metadata('thread_name', { pid, tid }, { name: track.name });
      yield metadata('thread_sort_index', { pid, tid }, { sort_index: tid });
      for (const { endMs, facts, name, startMs } of track.slices()) {
        const ts = microseconds(startMs);
        yield { ph: 'X', name, cat: 'trtexec', pid, tid, ts, dur: microseconds(endMs - startMs), args: facts };
      }
    }
  }
}

function metadata(name: string, of: { pid: number; tid?: number }, args: object): object {
  return { ph: 'M', name, ...of, args };
}

/** To the nanosecond: the rest is conversion noise. */
function microseconds(ms: number): number {
  return Number((ms * 1000).toFixed(3));
}
