import type { LogStream } from '../../records/outcome.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import { decodeMarkerVersion, type TensorrtVersion } from '../../text/version.ts';

const SEVERITIES = ['F', 'E', 'W', 'I', 'V'] as const;

export type Severity = (typeof SEVERITIES)[number];

/** One message of trtexec's logger, or one line without a prefix (`severity` null). */
export interface LogMessage {
  readonly stream: LogStream;
  /** Line number in its stream, from 1. */
  readonly line: number;
  readonly severity: Severity | null;
  /** True for text that the TensorRT library logged (`[TRT] `); `text` is without that mark. */
  readonly fromLibrary: boolean;
  readonly text: string;
  /** `MM/DD/YYYY-HH:MM:SS`, local time without a zone. */
  readonly time: string | null;
}

/** Longer lines are truncated: tensor dumps and tactic lists may be many megabytes long. */
const MAX_LINE_BYTES = 1 << 20;
const PREFIX = /\[(\d{2}\/\d{2}\/\d{4}-\d{2}:\d{2}:\d{2})\] \[([FEWIV])\](?: (\[TRT\] )?|(?=\[)|$)/g;
const UNDATED = /^\[([FEWIV])\](?: (\[TRT\] )?|$)/;
const TIME_LENGTH = '[MM/DD/YYYY-HH:MM:SS'.length;
const PREFIX_LENGTH = TIME_LENGTH + '] [V] [TRT] '.length;
const MARKER_SIGN = '&&&& ';
// oxlint-disable-next-line no-control-regex -- stray colours come from CI wrappers
const ANSI = /\u001b\[[0-9;?]*[ -/]*[@-~]/g;

/**
 * Drops verbose lines, which are most of a large log, but counts them. A line that two writers merged becomes two
 * messages.
 */
export class LogLineReader {
  lineCount = 0;
  private readonly stream: LogStream;
  private readonly onMessage: (message: LogMessage) => void;
  /** The unfinished line, one character for each byte. */
  private carry = '';

  constructor(stream: LogStream, onMessage: (message: LogMessage) => void) {
    this.stream = stream;
    this.onMessage = onMessage;
  }

  /** Only text that is kept is decoded as UTF-8. */
  push(chunk: Buffer): void {
    const text = this.carry + chunk.toString('latin1');
    let start = 0;
    let marker = text.indexOf(MARKER_SIGN);
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      this.lineCount += 1;
      if (marker !== -1 && marker < start) marker = text.indexOf(MARKER_SIGN, start);
      const isMarked = marker !== -1 && marker < end;
      if (isMarked || !isVerboseAlone(text, start, end)) this.readLine(text.slice(start, end));
      start = end + 1;
    }
    this.carry = text.slice(start, start + MAX_LINE_BYTES);
  }

  end(): void {
    if (this.carry !== '') this.push(Buffer.from('\n'));
  }

  private readLine(line: string): void {
    const decoded = Buffer.from(line.slice(0, MAX_LINE_BYTES), 'latin1').toString();
    const text = decoded.replace(/\r$/, '').replace(ANSI, '');
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
    if (severity === 'V' && markerStart(text) === -1) return;
    this.onMessage({ stream: this.stream, line: this.lineCount, severity, fromLibrary, text, time });
  }
}

/** Whether a line is a verbose message, and no other message begins in it. */
function isVerboseAlone(text: string, start: number, end: number): boolean {
  if (!text.startsWith('] [V]', start + TIME_LENGTH)) return false;
  const other = text.indexOf('] [', start + PREFIX_LENGTH);
  return other === -1 || other > end;
}

const MARKER_RESULTS = ['RUNNING', 'PASSED', 'FAILED', 'WAIVED', 'TASK_BEGIN', 'TASK_END', 'TASK_ABORT'] as const;

export type Marker = NonNullable<ReturnType<typeof parseMarker>>;

const MARKER = /^&&&& ([A-Z_]+)\b(?: (\S+)(?: \[TensorRT v(\d{4,6})\])?(?: \[b\d+\])?(?: # ?(.*))?)?/s;

/**
 * What precedes the last marker of a line: other tools add prefixes, and a killed process ends without a line feed, so
 * that the next one continues its line. Scripts may quote the start of a marker, so more of it must match.
 */
const BEFORE_MARKER =
  /^.*(?=&&&& (?:(?:RUNNING|PASSED|FAILED|WAIVED) TensorRT\.trtexec (?:\[TensorRT v\d|# )|TASK_[A-Z]+ \[))/s;

/** Start of a marker; -1 if there is none. */
export function markerStart(text: string): number {
  if (!text.includes(MARKER_SIGN)) return -1;
  return BEFORE_MARKER.exec(text)?.[0].length ?? (text.startsWith(MARKER_SIGN) ? 0 : -1);
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
  for (const line of text.split('\n')) {
    const version = parseMarker(line)?.version ?? null;
    if (version !== null) return version;
  }
  return null;
}
