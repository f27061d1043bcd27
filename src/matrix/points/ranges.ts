/** More values than this are a slip of the pen. */
const MAX_VALUES = 1000;
const RANGE = /^(\d+)\.\.(\d+)(?:([*+])(\d+))?$/;

export type RangeReading =
  | { readonly kind: 'values'; readonly values: readonly number[] }
  | { readonly kind: 'faulty'; readonly problem: string };

/** `1..8`, `0..512+64`, `1..1024*2`: from, to, and the step that is added or multiplied with. */
export function readRange(text: string): RangeReading {
  const match = RANGE.exec(text.replaceAll(' ', ''));
  if (match === null) {
    return { kind: 'faulty', problem: `"${text}" is neither a number nor a range such as 1..1024*2` };
  }
  const from = Number(match[1]);
  const to = Number(match[2]);
  const step = Number(match[4] ?? 1);
  const multiplies = match[3] === '*';
  if (to < from) return { kind: 'faulty', problem: `"${text}" ends before it begins` };
  if (step < 1 || (multiplies && (step < 2 || from < 1))) {
    return { kind: 'faulty', problem: `"${text}" never ends` };
  }
  const values: number[] = [];
  for (let value = from; value <= to; value = multiplies ? value * step : value + step) {
    values.push(value);
    if (values.length > MAX_VALUES) {
      return { kind: 'faulty', problem: `"${text}" has more than ${MAX_VALUES} values` };
    }
  }
  return { kind: 'values', values };
}
