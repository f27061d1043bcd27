export const UNSAFE =
  // oxlint-disable-next-line no-control-regex -- these must not reach a terminal
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Makes untrusted text safe to print: control characters, terminal escapes and bidirectional marks become visible. Use
 * it for names of models, branches, files and layers, and for lines of logs.
 */
export function printable(text: string): string {
  return text.replace(UNSAFE, (c) => SHORT[c] ?? unicodeEscape(c));
}

/** Like `printable` for text with lines and tabs. */
export function withoutControls(text: string): string {
  return text.replace(UNSAFE, (c) => (c in SHORT ? c : unicodeEscape(c)));
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** JSON for standard output. Escapes characters that `JSON.stringify` leaves unchanged and terminals act on. */
export function jsonText(value: unknown): string {
  return withoutControls(JSON.stringify(value, null, 1));
}

export function jsonLine(value: unknown): string {
  return withoutControls(JSON.stringify(value));
}

/** The first names and the number of the others: `a, b, 3 more`. */
export function shortList(names: readonly string[], most: number, between = ', ', last = between): string {
  const more = names.length - most;
  return names.slice(0, most).join(between) + (more > 0 ? `${last}${more} more` : '');
}

const OMITTED = /^\[bench\] at least (\d+) bytes were left out here$/;

/**
 * The line in a log that replaces its middle. The number is a lower bound, because output during the cut is not
 * counted.
 */
export function omittedLine(bytes: number): string {
  return `[bench] at least ${bytes} bytes were left out here`;
}

export function omittedBytesIn(line: string): number | null {
  const bytes = OMITTED.exec(line)?.[1];
  return bytes === undefined ? null : Number(bytes);
}

export const LONGEST_NOTE = 500;

export function foldedNote(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ');
}
