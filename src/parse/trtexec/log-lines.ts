import type { LogStream } from '../../domain/outcome.ts';
import { isOneOf } from '../../domain/unknown-values.ts';

const SEVERITIES = ['F', 'E', 'W', 'I', 'V'] as const;

export type Severity = (typeof SEVERITIES)[number];

/** One message of trtexec's logger, or one line that carries no prefix (`severity` null). */
export interface LogMessage {
  readonly stream: LogStream;
  /** Physical line in its stream, from 1. */
  readonly line: number;
  readonly severity: Severity | null;
  /** True for text that the TensorRT library logged (`[TRT] `); the mark itself is not part of `text`. */
  readonly fromLibrary: boolean;
  readonly text: string;
  /** `MM/DD/YYYY-HH:MM:SS`, local time without a zone. */
  readonly time: string | null;
}

/** Longer lines are cut here: tensor dumps and tactic lists may be many megabytes long. */
const MAX_LINE_BYTES = 1 << 20;
const PREFIX_LENGTH = '[MM/DD/YYYY-HH:MM:SS] [S]'.length;
const SEVERITY_OFFSET = PREFIX_LENGTH - 2;
const PREFIX =
  /\[(\d{2}\/\d{2}\/\d{4}-\d{2}:\d{2}:\d{2})\] \[([FEWIV])\](?: (\[TRT\] )?|(?=\[)|$)/g;
// oxlint-disable-next-line no-control-regex -- stray colours come from CI wrappers
const ANSI = /\u001b\[[0-9;?]*[ -/]*[@-~]/g;

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const V = 0x56;

/**
 * Cuts the bytes of one stream into messages. Verbose lines are counted and left out: they are nearly all of a large
 * log and say nothing that the summary needs. A line that two writers glued together gives two messages.
 */
export class LogLineReader {
  lineCount = 0;
  private readonly stream: LogStream;
  private readonly onMessage: (message: LogMessage) => void;
  private carry: Buffer | null = null;

  constructor(stream: LogStream, onMessage: (message: LogMessage) => void) {
    this.stream = stream;
    this.onMessage = onMessage;
  }

  push(chunk: Buffer): void {
    const rest = this.carry === null ? chunk : this.finishCarried(this.carry, chunk);
    const consumed = this.scan(rest);
    if (consumed < rest.length) {
      this.carry = Buffer.from(rest.subarray(consumed, consumed + MAX_LINE_BYTES));
    }
  }

  end(): void {
    if (this.carry !== null) this.push(NEWLINE_BYTES);
  }

  /** Completes the line that the last chunk left open; returns what follows it. */
  private finishCarried(carry: Buffer, chunk: Buffer): Buffer {
    const newline = chunk.indexOf(NEWLINE);
    const tail = newline === -1 ? chunk : chunk.subarray(0, newline);
    const room = Math.max(0, MAX_LINE_BYTES - carry.length);
    const line = Buffer.concat([carry, tail.subarray(0, room)]);
    if (newline === -1) {
      this.carry = line;
      return chunk.subarray(chunk.length);
    }
    this.carry = null;
    this.scan(Buffer.concat([line, NEWLINE_BYTES]));
    return chunk.subarray(newline + 1);
  }

  /**
   * Handles every whole line of `bytes` and returns where the unfinished rest begins. It works on one latin1 string,
   * whose native searches are several times faster than a loop over bytes; text that is kept is decoded as UTF-8.
   */
  private scan(bytes: Buffer): number {
    const all = bytes.toString('latin1');
    let start = 0;
    for (;;) {
      const end = all.indexOf('\n', start);
      if (end === -1) return start;
      this.lineCount += 1;
      const skip =
        all.charCodeAt(start + SEVERITY_OFFSET) === V &&
        isPrefixAt(all, start) &&
        !holdsPrefix(all, start + PREFIX_LENGTH, end);
      if (!skip) this.decodeLine(bytes, start, end);
      start = end + 1;
    }
  }

  private decodeLine(bytes: Buffer, start: number, end: number): void {
    const last = end > start && bytes[end - 1] === RETURN ? end - 1 : end;
    const cut = Math.min(last, start + MAX_LINE_BYTES);
    const raw = bytes.toString('utf8', start, cut);
    const text = raw.includes('\u001b') ? raw.replace(ANSI, '') : raw;
    const prefixes = text.includes('] [') ? [...text.matchAll(PREFIX)] : [];
    const first = prefixes[0];
    if (first === undefined) {
      this.emit(null, null, false, text);
      return;
    }
    if (first.index > 0) this.emit(null, null, false, text.slice(0, first.index));
    prefixes.forEach((prefix, position) => {
      const from = prefix.index + prefix[0].length;
      const to = prefixes[position + 1]?.index ?? text.length;
      const severity = prefix[2];
      if (isOneOf(SEVERITIES, severity) && severity !== 'V') {
        this.emit(severity, prefix[1] ?? null, prefix[3] !== undefined, text.slice(from, to));
      }
    });
  }

  private emit(
    severity: Severity | null,
    time: string | null,
    fromLibrary: boolean,
    text: string,
  ): void {
    this.onMessage({
      stream: this.stream,
      line: this.lineCount,
      severity,
      fromLibrary,
      text,
      time,
    });
  }
}

const NEWLINE_BYTES = Buffer.from('\n');

/** The fixed marks of `[MM/DD/YYYY-HH:MM:SS] [S]`; digits are left to the regular expression. */
function isPrefixAt(text: string, at: number): boolean {
  return (
    text.charCodeAt(at) === 0x5b &&
    text.charCodeAt(at + 3) === 0x2f &&
    text.charCodeAt(at + 11) === 0x2d &&
    text.charCodeAt(at + 20) === 0x5d &&
    text.charCodeAt(at + 22) === 0x5b
  );
}

function holdsPrefix(text: string, from: number, end: number): boolean {
  let at = text.indexOf('[', from);
  while (at !== -1 && at < end) {
    if (isPrefixAt(text, at)) return true;
    at = text.indexOf('[', at + 1);
  }
  return false;
}
