import { breathe, type Io } from '../../cli/io.ts';
import { writeOutput } from '../../cli/output-file.ts';
import { withStore } from '../../cli/with-store.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { namedRun } from '../../selection/named-run.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { jsonLine, jsonText, printable } from '../../text/printable.ts';
import type { ExportOptions } from './command.ts';
import type { ExportFormat } from './format.ts';
import type { ExportOutput } from './output.ts';
import { runTrace } from './run-trace.ts';
import { perfettoTrace } from './trace/perfetto-trace.ts';
import type { Trace } from './trace/trace.ts';
import { tritonConfigOf } from './write-triton-config.ts';

/** What is written, and what a person should know of it. */
interface Exported {
  readonly runId: string;
  readonly chunks: Iterable<string | Uint8Array>;
  readonly slices: number | null;
  readonly notes: readonly string[];
}

/** `bench export RUN --format chrome-trace|perfetto|triton-config [--output FILE]` */
export async function exportRun(name: string, options: ExportOptions, io: Io): Promise<ExitCode> {
  const { format, json, output, redact } = options;
  const file = output === undefined || output === '-' ? null : output;
  if (file === null && json === true) {
    throw new UsageError('only one thing can go to standard output: name a file with --output');
  }
  if (file === null && format === 'perfetto') {
    throw new UsageError('perfetto is a binary format: name a file, --output run.pftrace');
  }
  if (file !== null && redact === true) {
    throw new UsageError('--redact hides names in what is printed: leave --output out');
  }
  return withStore(options, io, async (store) => {
    const exported = await exportedAs(format, store, name, io);
    const { chunks, notes, runId, slices } = exported;
    const tell = (): void => {
      for (const note of notes) io.err(`note: ${printable(note)}\n`);
    };
    if (file === null) {
      tell();
      for (const chunk of chunks) {
        io.out(chunk.toString());
        await breathe(io);
      }
      return EXIT_CODES.fine;
    }
    const bytes = await writeOutput(file, chunks, io);
    const written: ExportOutput = { schemaVersion: 1, runId, format, file, bytes, slices, notes };
    if (json === true) io.out(`${jsonText(written)}\n`);
    else {
      tell();
      io.err(`wrote ${printable(file)}\n`);
    }
    return EXIT_CODES.fine;
  });
}

async function exportedAs(format: ExportFormat, store: OpenStore, name: string, io: Io): Promise<Exported> {
  if (format === 'triton-config') {
    const { notes, runId, text } = await tritonConfigOf(store, name, io);
    return { runId, chunks: [text], slices: null, notes };
  }
  const { notes, runId, slices, trace } = runTrace(store.db, namedRun(store.db, name));
  const chunks = format === 'perfetto' ? perfettoTrace(trace) : chromeTrace(trace);
  return { runId, chunks, slices, notes };
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
