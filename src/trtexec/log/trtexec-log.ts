import type { LogStream } from '../../records/outcome.ts';
import { FailureDraft } from './failure-rules.ts';
import { LogLineReader, type LogMessage, type Marker, markerStart, parseMarker } from './log-lines.ts';
import { RunBuilder, type TrtexecRun, TYPED_COMMAND } from './run-builder.ts';

/**
 * Reads the output of trtexec 7.x to 11.x in constant memory. Push the bytes of stdout first, then those of stderr; a
 * log in which both were merged is pushed as stdout. Several runs in one log are distinguished by their markers.
 */
export class TrtexecLogParser {
  private readonly builders: RunBuilder[] = [];
  /** Runs without a closing marker so far; the build-route tuner nests child runs in a parent. */
  private readonly open: RunBuilder[] = [];
  private childExpected = false;
  /** Number of start markers, without those of the build-route tuner's children. */
  private processes = 0;
  private readonly readers: Readonly<Record<LogStream, LogLineReader>>;
  private lastStderr: RunBuilder | null = null;

  constructor() {
    this.readers = {
      stdout: new LogLineReader('stdout', (message) => this.readStdout(message)),
      stderr: new LogLineReader('stderr', (message) => this.builderAt(message).read(message)),
    };
  }

  push(chunk: Buffer, stream: LogStream = 'stdout'): void {
    // A last line without a line feed may be the marker of the run that stderr belongs to.
    if (stream === 'stderr') this.readers.stdout.end();
    this.readers[stream].push(chunk);
  }

  end() {
    this.readers.stdout.end();
    this.readers.stderr.end();
    const runs: TrtexecRun[] = this.builders
      .filter(({ saysAnything }) => saysAnything)
      .map((builder) => builder.finish());
    return { runs, processes: this.processes };
  }

  private readStdout(message: LogMessage): void {
    const start = markerStart(message.text);
    if (start === -1) {
      this.currentFor(message).read(message);
      return;
    }
    const marker = parseMarker(message.text.slice(start));
    if (marker !== null) this.readMarker(marker);
  }

  private readMarker(marker: Marker): void {
    switch (marker.result) {
      case 'RUNNING': {
        if (this.childExpected) this.childExpected = false;
        else {
          this.processes += 1;
          this.open.length = 0;
        }
        // A script's output before its first run is not a run; warnings may precede their marker.
        if (this.builders.at(-1)?.speaks === false) this.builders.pop();
        const early = this.builders.at(-1);
        const builder = early?.warnsOnly === true ? early : this.add();
        builder.start(marker);
        this.open.push(builder);
        break;
      }
      case 'TASK_BEGIN':
        this.childExpected = true;
        break;
      case 'TASK_END':
      case 'TASK_ABORT':
        this.childExpected = false;
        if (this.open.length > 1) this.open.pop();
        break;
      default: {
        const current = this.current();
        if (!current.awaits(marker)) this.findOverlap(marker, current);
        current.close(marker);
        this.open.pop();
      }
    }
  }

  /** Two processes wrote to the log at the same time if one ends after the start of another. */
  private findOverlap(marker: Marker, current: RunBuilder): void {
    const first = this.builders.findIndex((builder) => builder !== current && builder.awaits(marker));
    if (first !== -1) for (const builder of this.builders.slice(first)) builder.overlaps = true;
  }

  private add(): RunBuilder {
    const builder = new RunBuilder();
    this.builders.push(builder);
    return builder;
  }

  /**
   * A repeated banner or a typed command starts another run in a log without markers. In a marked run, a repeated
   * banner shows an overlap.
   */
  private currentFor({ severity, text }: LogMessage): RunBuilder {
    const run = this.current();
    if (severity === null && !run.isMarked && run.informs && TYPED_COMMAND.test(text)) return this.add();
    if (severity !== 'I' || !run.hasSection(text)) return run;
    if (!run.isMarked) return this.add();
    run.overlaps = true;
    return run;
  }

  /** The innermost open run; otherwise the last one, to which trailing lines belong; otherwise a new one. */
  private current(): RunBuilder {
    return this.open.at(-1) ?? this.builders.at(-1) ?? this.add();
  }

  /** stderr has no markers: if there are several runs, the time in the prefix determines the run. */
  private builderAt(message: LogMessage): RunBuilder {
    const { time } = message;
    if (this.builders.length > 1 && time !== null) {
      const key = sortableTime(time);
      const running = this.builders.findLast(({ firstTime }) => firstTime !== null && sortableTime(firstTime) <= key);
      this.lastStderr = running ?? this.builders[0] ?? null;
    }
    this.lastStderr ??= this.builders[0] ?? this.add();
    return this.lastStderr;
  }
}

/** `MM/DD/YYYY-HH:MM:SS` with the year first. */
function sortableTime(time: string): string {
  return `${time.slice(6, 10)}/${time.slice(0, 5)}${time.slice(10)}`;
}

/**
 * Keeps the messages of trtexec's logger that are not verbose, its markers, and known causes of failure. Lines of other
 * programs in between are only counted.
 */
export async function ownLines(chunks: AsyncIterable<Buffer>, stream: LogStream) {
  const texts: string[] = [];
  const reader = new LogLineReader(stream, (message) => {
    if (isOwn(message)) texts.push(lineOf(message));
  });
  for await (const chunk of chunks) reader.push(chunk);
  reader.end();
  return { texts, others: Math.max(0, reader.lineCount - texts.length) };
}

function isOwn(message: LogMessage): boolean {
  if (message.severity !== null || parseMarker(message.text) !== null) return true;
  const failures = new FailureDraft();
  failures.read(message, () => true);
  return failures.found.length > 0;
}

function lineOf({ fromLibrary, severity, text, time }: LogMessage): string {
  const prefix = [...(time === null ? [] : [`[${time}]`]), ...(severity === null ? [] : [`[${severity}]`])];
  return [...prefix, ...(fromLibrary ? ['[TRT]'] : []), text].join(' ');
}
