import type { LogStream } from '../../records/outcome.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import { decodeMarkerVersion, type TensorrtVersion } from '../../text/version.ts';

const SEVERITIES = ['F', 'E', 'W', 'I', 'V'] as const;

/** One message of trtexec's logger, or one line without a prefix (`severity` null). */
export interface LogMessage {
  readonly stream: LogStream;
  /** Line number in its stream, from 1. */
  readonly line: number;
  readonly severity: (typeof SEVERITIES)[number] | null;
  /** True for text that the TensorRT library logged (`[TRT] `); `text` is without that mark. */
  readonly fromLibrary: boolean;
  readonly text: string;
  /** `MM/DD/YYYY-HH:MM:SS`, local time without a zone. */
  readonly time: string | null;
}

/** Longer lines are truncated: tensor dumps and tactic lists may be many megabytes long. */
const MAX_LINE_BYTES = 1 << 20;
const PREFIX_LENGTH = '[MM/DD/YYYY-HH:MM:SS] [S]'.length;
const LIBRARY_MARK_LENGTH = ' [TRT] '.length;
const SEVERITY_OFFSET = PREFIX_LENGTH - 2;
const PREFIX = /\[(\d{2}\/\d{2}\/\d{4}-\d{2}:\d{2}:\d{2})\] \[([FEWIV])\](?: (\[TRT\] )?|(?=\[)|$)/g;
const UNDATED = /^\[([FEWIV])\](?: (\[TRT\] )?|$)/;
const MARKER_SIGN = '&&&& ';
// oxlint-disable-next-line no-control-regex -- stray colours come from CI wrappers
const ANSI = /\u001b\[[0-9;?]*[ -/]*[@-~]/g;

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const OPEN = 0x5b;
const CLOSE = 0x5d;
const SLASH = 0x2f;
const MINUS = 0x2d;
const V = 0x56;

/**
 * Drops verbose lines, which are most of a large log, but counts them. A line that two writers merged becomes two
 * messages.
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

  /** Completes the unfinished line of the last chunk; returns what follows it. */
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
   * Processes every whole line of `bytes` and returns the start of the unfinished rest. Native byte searches are twice
   * as fast as a loop and five times as fast as string searches. Only text that is kept is decoded as UTF-8.
   */
  private scan(bytes: Buffer): number {
    let start = 0;
    let marker = bytes.indexOf(MARKER_SIGN);
    for (;;) {
      const end = bytes.indexOf(NEWLINE, start);
      if (end === -1) return start;
      this.lineCount += 1;
      while (marker !== -1 && marker < start) marker = bytes.indexOf(MARKER_SIGN, start);
      const isDropped =
        (marker === -1 || marker > end) &&
        bytes[start + SEVERITY_OFFSET] === V &&
        isPrefixAt(bytes, start) &&
        !holdsPrefix(bytes, textStart(bytes, start), end);
      if (!isDropped) this.decodeLine(bytes, start, end);
      start = end + 1;
    }
  }

  private decodeLine(bytes: Buffer, start: number, end: number): void {
    const last = end > start && bytes[end - 1] === RETURN ? end - 1 : end;
    const cut = Math.min(last, start + MAX_LINE_BYTES);
    const raw = bytes.toString('utf8', start, cut);
    const text = raw.includes('\u001b') ? raw.replace(ANSI, '') : raw;
    if (text.indexOf(MARKER_SIGN, 1) === -1) this.decodeText(text);
    else for (const piece of cutAtMarkers(text)) this.decodeText(piece);
  }

  private decodeText(text: string): void {
    // A plain search is faster than the regular expression, and some tools remove the time and keep the severity.
    const prefixes = text.includes('] [') ? [...text.matchAll(PREFIX)] : [];
    const undated = prefixes.length === 0 && text.startsWith('[') ? UNDATED.exec(text) : null;
    const before = text.slice(0, prefixes[0]?.index);
    if (undated !== null) this.emit(undated[1], null, undated[2] !== undefined, text.slice(undated[0].length));
    else if (before !== '' || prefixes.length === 0) this.emit(undefined, null, false, before);
    for (const [place, { 0: prefix, 1: time = null, 2: severity, 3: mark, index }] of prefixes.entries()) {
      const rest = text.slice(index + prefix.length, prefixes[place + 1]?.index);
      this.emit(severity, time, mark !== undefined, rest);
    }
  }

  private emit(stated: string | undefined, time: string | null, fromLibrary: boolean, text: string): void {
    const severity = isOneOf(SEVERITIES, stated) ? stated : null;
    if (severity === 'V') return;
    this.onMessage({ stream: this.stream, line: this.lineCount, severity, fromLibrary, text, time });
  }
}

const NEWLINE_BYTES = Buffer.from('\n');

/** Checks the fixed characters of `[MM/DD/YYYY-HH:MM:SS] [S]`; the regular expression checks the digits. */
function isPrefixAt(bytes: Buffer, at: number): boolean {
  return (
    bytes[at] === OPEN &&
    bytes[at + 3] === SLASH &&
    bytes[at + 11] === MINUS &&
    bytes[at + 20] === CLOSE &&
    bytes[at + 22] === OPEN
  );
}

/** Start of the text after a prefix and the library's mark, at fixed offsets: a search in each line would be slow. */
function textStart(bytes: Buffer, line: number): number {
  const at = line + PREFIX_LENGTH;
  const hasMark = bytes[at + 1] === OPEN && bytes[at + LIBRARY_MARK_LENGTH - 2] === CLOSE;
  return hasMark ? at + LIBRARY_MARK_LENGTH : at;
}

/** True if another message begins between `from` and `end`. */
function holdsPrefix(bytes: Buffer, from: number, end: number): boolean {
  let at = bytes.indexOf(OPEN, from);
  while (at !== -1 && at < end) {
    if (isPrefixAt(bytes, at)) return true;
    at = bytes.indexOf(OPEN, at + 1);
  }
  return false;
}

const MARKER_RESULTS = ['RUNNING', 'PASSED', 'FAILED', 'WAIVED', 'TASK_BEGIN', 'TASK_END', 'TASK_ABORT'] as const;

export type Marker = NonNullable<ReturnType<typeof parseMarker>>;

const MARKER = /^&&&& ([A-Z_]+)\b(?: (\S+)(?: \[TensorRT v(\d{4,6})\])?(?: \[b\d+\])?(?: # ?(.*))?)?/s;

/**
 * A marker inside a line: other tools add prefixes, or a message precedes it. Scripts may quote the start of a marker,
 * so more of it must match.
 */
const INNER_MARKER = /&&&& (?:(?:RUNNING|PASSED|FAILED|WAIVED) TensorRT\.trtexec (?:\[TensorRT v\d|# )|TASK_[A-Z]+ \[)/;

/** This many characters are enough to tell a marker from a quoted one. */
const INNER_LENGTH = 80;

/**
 * Splits a line at the markers inside it: a killed process ends without a line feed, and the next one continues its
 * line.
 */
function cutAtMarkers(text: string): string[] {
  const pieces: string[] = [];
  let from = 0;
  let at = text.indexOf(MARKER_SIGN, 1);
  while (at !== -1) {
    const isMarker = INNER_MARKER.exec(text.slice(at, at + INNER_LENGTH))?.index === 0;
    if (isMarker) {
      pieces.push(text.slice(from, at));
      from = at;
    }
    at = text.indexOf(MARKER_SIGN, at + MARKER_SIGN.length);
  }
  return [...pieces, text.slice(from)];
}

/** Start of a marker in a line without a prefix; -1 if there is none. */
export function markerStart(text: string): number {
  if (text.startsWith(MARKER_SIGN)) return 0;
  return text.includes(MARKER_SIGN) ? text.search(INNER_MARKER) : -1;
}

/** Parses a `&&&& RESULT TensorRT.trtexec [TensorRT vN] [bB] # argv` line; null for any other text. */
export function parseMarker(text: string) {
  const match = MARKER.exec(text);
  const result = match?.[1];
  if (match === null || !isOneOf(MARKER_RESULTS, result)) return null;
  const digits = match[3];
  /** The version that trtexec was compiled against; null for markers of TensorRT before 8, which lack it. */
  const version = digits === undefined ? null : decodeMarkerVersion(digits);
  return { result, version, commandLine: match[4] ?? '' };
}

/** Version of the first marker that has one; null if none has. */
export function versionInMarkers(text: string): TensorrtVersion | null {
  const versions = text.split('\n').map((line) => parseMarker(line)?.version ?? null);
  return versions.find((version) => version !== null) ?? null;
}
