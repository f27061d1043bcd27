import { readInstant } from '../../text/utc-instant.ts';

/** A number as a C++ stream prints it: six significant digits, possibly scientific, `inf` or `nan`. */
const NUMBER = String.raw`[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf|nan)`;

/**
 * Makes a pattern from one in which `(N)` is a printed number. Without flags it matches only at the start of a text.
 */
export function printedPattern(pattern: string, flags?: string): RegExp {
  return new RegExp((flags === undefined ? '^' : '') + pattern.replaceAll(/(?<=\(|:)N(?=\))/g, NUMBER), flags);
}

/** NaN if `text` is not a number. */
export function parseStreamNumber(text: string): number {
  const value = Number(text);
  if (!Number.isNaN(value) || !/^[-+]?inf$/.test(text)) return value;
  return text.startsWith('-') ? -Infinity : Infinity;
}

export function finiteOrNull(text = ''): number | null {
  const value = text.trim() === '' ? Number.NaN : parseStreamNumber(text.trim());
  return Number.isFinite(value) ? value : null;
}

/** `MM/DD/YYYY-HH:MM:SS` as `YYYY-MM-DDTHH:MM:SS`, local time without a zone; null for an invalid stamp. */
export function isoOfStamp(stamp: string): string | null {
  const [, month, day, year, time] = /^(\d\d)\/(\d\d)\/(\d{4})-(\d\d:\d\d:\d\d)$/.exec(stamp) ?? [];
  const iso = `${year}-${month}-${day}T${time}`;
  return readInstant(iso) === null ? null : iso;
}
