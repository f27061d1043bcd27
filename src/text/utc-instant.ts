const FORM =
  /^(?<day>\d{4}-\d\d-\d\d)(?:[T ](?<time>\d\d:\d\d)(?<seconds>:\d\d(?:\.\d{1,9})?)?(?<zone>Z|[+-]\d\d:\d\d)?)?$/;

/**
 * A date, or a date and time, as people write it. Without a zone it is UTC, a date alone is its midnight.
 * @returns UTC in ISO 8601 with milliseconds; null when there is no such day or time
 */
export function readInstant(text: string): string | null {
  const { day, time = '00:00', seconds = ':00', zone = 'Z' } = FORM.exec(text)?.groups ?? {};
  if (day === undefined) return null;
  const clock = new Date(`${day}T${time}${seconds}Z`);
  // A 31st of February would become a day of March.
  const exists = !Number.isNaN(clock.getTime()) && clock.toISOString().startsWith(`${day}T${time}`);
  const instant = new Date(`${day}T${time}${seconds}${zone}`);
  return exists && !Number.isNaN(instant.getTime()) ? instant.toISOString() : null;
}
