const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Returns `24 Feb`. @param date begins with year, month and day (ISO 8601); without one the result is empty */
export function dayText(date: string | null): string {
  const [, month, day] = /^\d{4}-(\d{2})-(\d{2})/.exec(date ?? '') ?? [];
  return month === undefined || day === undefined ? '' : `${Number(day)} ${MONTHS[Number(month) - 1] ?? month}`;
}
