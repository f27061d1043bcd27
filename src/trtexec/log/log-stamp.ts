import { readInstant } from '../../text/utc-instant.ts';

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
