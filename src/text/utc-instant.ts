const FORM =
  /^(?<day>\d{4}-\d\d-\d\d)(?:[T ](?<time>\d\d:\d\d)(?<seconds>:\d\d(?:\.\d{1,9})?)?(?<zone>Z|[+-]\d\d:\d\d)?)?$/;

/**
 * Reads a date, or date and time; UTC without a zone.
 * @returns ISO 8601 in UTC with milliseconds; null for a time that does not exist
 */
export function readInstant(text: string): string | null {
  const { day, time = '00:00', seconds = ':00', zone = 'Z' } = FORM.exec(text)?.groups ?? {};
  if (day === undefined) return null;
  const clock = new Date(`${day}T${time}${seconds}Z`);
  // Rejects dates such as 31 February.
  const exists = !Number.isNaN(clock.getTime()) && clock.toISOString().startsWith(`${day}T${time}`);
  const instant = new Date(`${day}T${time}${seconds}${zone}`);
  return exists && !Number.isNaN(instant.getTime()) ? instant.toISOString() : null;
}

/** A time from a program or a file, in any form that `Date.parse` reads; null for other text. */
export function instantOf(text: string | null): string | null {
  const time = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
