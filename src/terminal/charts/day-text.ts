const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `24 Feb`. @param date begins with year, month and day: ISO 8601; empty without one */
export function dayText(date: string | null): string {
  const [, month, day] = /^\d{4}-(\d{2})-(\d{2})/.exec(date ?? '') ?? [];
  return month === undefined || day === undefined ? '' : `${Number(day)} ${MONTHS[Number(month) - 1] ?? month}`;
}
