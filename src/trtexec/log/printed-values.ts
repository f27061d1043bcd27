import { readInstant } from '../../text/utc-instant.ts';

/** A number as a C++ stream prints it: six significant digits, maybe scientific, maybe `inf` or `nan`. */
export const NUMBER = String.raw`[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf|nan)`;

/** The number that `text` is; NaN when it is none. */
export function parseStreamNumber(text: string): number {
  const unsigned = text.replace(/^[-+]/, '');
  if (unsigned === 'inf') return text.startsWith('-') ? -Infinity : Infinity;
  return Number(text);
}

export function finiteOrNull(text: string | undefined): number | null {
  if (text === undefined || text.trim() === '') return null;
  const value = parseStreamNumber(text.trim());
  return Number.isFinite(value) ? value : null;
}

/**
 * The stamp of a line of a log as ISO 8601 without a zone, for trtexec prints local time and no zone.
 * @param stamp `MM/DD/YYYY-HH:MM:SS`
 * @returns `YYYY-MM-DDTHH:MM:SS`; null when there is no such day or time
 */
export function isoOfStamp(stamp: string): string | null {
  const [, month, day, year, time] = /^(\d\d)\/(\d\d)\/(\d{4})-(\d\d:\d\d:\d\d)$/.exec(stamp) ?? [];
  const iso = `${year}-${month}-${day}T${time}`;
  return readInstant(iso) === null ? null : iso;
}
