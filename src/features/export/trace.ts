import { jsonLine } from '../../text/printable.ts';

export const EXPORT_FORMATS = ['chrome-trace', 'perfetto'] as const;

/** A piece of time on a track, in milliseconds from the beginning of the trace. */
export interface TraceSlice {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly facts: Readonly<Record<string, string | number>>;
}

/** Slices one behind the other: none begins before the one before it has ended. */
export interface TraceTrack {
  readonly name: string;
  readonly count: number;
  /** May be called more than once; large runs are never held as objects. */
  readonly slices: () => Iterable<TraceSlice>;
}

export interface TraceGroup {
  readonly name: string;
  readonly tracks: readonly TraceTrack[];
}

/** What viewers of traces show: groups of tracks. */
export interface Trace {
  readonly facts: Readonly<Record<string, string>>;
  readonly groups: readonly TraceGroup[];
}

const CHUNK_CHARACTERS = 1 << 16;

/**
 * The trace in Chrome's Trace Event Format (JSON object form): complete events (`X`) and metadata (`M`), times in
 * microseconds. A piece at a time, as a run may have millions of events.
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

/** To the nanosecond: what lies below is noise of the conversion. */
function microseconds(ms: number): number {
  return Number((ms * 1000).toFixed(3));
}
