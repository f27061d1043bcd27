import { isOneOf } from '../../text/unknown-values.ts';
import { decodeMarkerVersion, type TensorrtVersion } from '../../text/version.ts';

const MARKER_RESULTS = ['RUNNING', 'PASSED', 'FAILED', 'WAIVED', 'TASK_BEGIN', 'TASK_END', 'TASK_ABORT'] as const;

export type MarkerResult = (typeof MARKER_RESULTS)[number];

export interface Marker {
  readonly result: MarkerResult;
  /** The version that trtexec was compiled against. Missing in markers of TensorRT 6 and 7. */
  readonly version: TensorrtVersion | null;
  readonly commandLine: string;
}

const MARKER = /^&&&& ([A-Z_]+)\b(?: (\S+)(?: \[TensorRT v(\d{4,6})\])?(?: \[b\d+\])?(?: # ?(.*))?)?/s;

/** Other tools prefix lines, or a message precedes. Requires more of the marker, as scripts may quote its start. */
const INNER_MARKER = /&&&& (?:(?:RUNNING|PASSED|FAILED|WAIVED) TensorRT\.trtexec (?:\[TensorRT v\d|# )|TASK_[A-Z]+ \[)/;

/** Splits a line at markers inside: a killed process ends without a line feed, and the next continues it. */
export function cutAtMarkers(text: string): string[] {
  const pieces: string[] = [];
  let from = 0;
  let at = text.indexOf(SIGN, 1);
  while (at !== -1) {
    const isMarker = INNER_MARKER.exec(text.slice(at, at + INNER_LENGTH))?.index === 0;
    if (isMarker) {
      pieces.push(text.slice(from, at));
      from = at;
    }
    at = text.indexOf(SIGN, at + SIGN.length);
  }
  return [...pieces, text.slice(from)];
}

const SIGN = '&&&& ';
/** Long enough to distinguish a marker from a quoted one. */
const INNER_LENGTH = 80;

/** Start of a marker in a line without a prefix; -1 if there is none. */
export function markerStart(text: string): number {
  if (text.startsWith('&&&& ')) return 0;
  return text.includes('&&&& ') ? text.search(INNER_MARKER) : -1;
}

/** Parses a `&&&& RESULT TensorRT.trtexec [TensorRT vN] [bB] # argv` line; null for any other text. */
export function parseMarker(text: string): Marker | null {
  const match = MARKER.exec(text);
  const result = match?.[1];
  if (match === null || !isOneOf(MARKER_RESULTS, result)) return null;
  const digits = match[3];
  return { result, version: digits === undefined ? null : decodeMarkerVersion(digits), commandLine: match[4] ?? '' };
}

/** Version of the first marker that has one; null if none has. */
export function versionInMarkers(text: string): TensorrtVersion | null {
  for (const line of text.split('\n')) {
    const version = parseMarker(line)?.version ?? null;
    if (version !== null) return version;
  }
  return null;
}
