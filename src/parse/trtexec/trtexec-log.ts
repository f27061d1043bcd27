import type { LogStream } from '../../domain/outcome.ts';
import type { TrtexecLog } from '../../domain/trtexec-log.ts';
import { LogLineReader, type LogMessage } from './log-lines.ts';
import { parseMarker } from './marker.ts';
import { RunBuilder } from './run-builder.ts';

/**
 * Reads what trtexec printed, 7.x to 11.x, in constant memory. Push the bytes of stdout first, then those of stderr;
 * a log in which both were merged is pushed as stdout. Several runs in one log are told apart by their markers.
 */
export class TrtexecLogParser {
  private readonly builders: RunBuilder[] = [];
  /** Runs that still wait for their closing marker; the build-route tuner nests children inside a parent. */
  private readonly open: RunBuilder[] = [];
  private childExpected = false;
  private readonly readers: Readonly<Record<LogStream, LogLineReader>>;
  private lastStderr: RunBuilder | null = null;

  constructor() {
    this.readers = {
      stdout: new LogLineReader('stdout', (message) => this.readStdout(message)),
      stderr: new LogLineReader('stderr', (message) => this.builderAt(message).read(message)),
    };
  }

  push(chunk: Buffer, stream: LogStream = 'stdout'): void {
    this.readers[stream].push(chunk);
  }

  end(): TrtexecLog {
    this.readers.stdout.end();
    this.readers.stderr.end();
    const { stdout, stderr } = this.readers;
    return {
      runs: this.builders
        .filter((builder) => builder.saysAnything)
        .map((builder) => builder.finish()),
      lineCount: { stdout: stdout.lineCount, stderr: stderr.lineCount },
    };
  }

  private readStdout(message: LogMessage): void {
    if (message.severity === null && message.text.startsWith('&&&& ')) this.readMarker(message);
    else this.current(message.line).read(message);
  }

  private readMarker(message: LogMessage): void {
    const marker = parseMarker(message.text);
    if (marker === null) return;
    switch (marker.result) {
      case 'RUNNING': {
        if (this.childExpected) this.childExpected = false;
        else this.open.length = 0;
        const waiting = this.builders.at(-1);
        const reuse = waiting !== undefined && !waiting.saysAnything;
        const builder = reuse ? waiting : this.add(message.line);
        builder.start(marker, message.line);
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
        this.current(message.line).close(marker, message.line);
        this.open.pop();
      }
    }
  }

  private add(line: number): RunBuilder {
    const builder = new RunBuilder(line);
    this.builders.push(builder);
    return builder;
  }

  /** The innermost run that is open; else the last one, which trailing lines belong to; else a new one. */
  private current(line: number): RunBuilder {
    return this.open.at(-1) ?? this.builders.at(-1) ?? this.add(line);
  }

  /** stderr has no markers: with several runs, the clock in the prefix tells whose line it is. */
  private builderAt(message: LogMessage): RunBuilder {
    const { time } = message;
    if (this.builders.length > 1 && time !== null) {
      const key = sortableTime(time);
      const running = this.builders.findLast(
        ({ firstTime }) => firstTime !== null && sortableTime(firstTime) <= key,
      );
      this.lastStderr = running ?? this.builders[0] ?? null;
    }
    this.lastStderr ??= this.builders[0] ?? this.add(0);
    return this.lastStderr;
  }
}

/** `MM/DD/YYYY-HH:MM:SS` with the year first. */
function sortableTime(time: string): string {
  return `${time.slice(6, 10)}/${time.slice(0, 5)}${time.slice(10)}`;
}

/** Convenience for whole logs that are already in memory. */
export function parseTrtexecLog(stdout: Buffer | string, stderr: Buffer | string = ''): TrtexecLog {
  const parser = new TrtexecLogParser();
  parser.push(Buffer.from(stdout), 'stdout');
  parser.push(Buffer.from(stderr), 'stderr');
  return parser.end();
}
