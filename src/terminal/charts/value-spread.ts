/** What the runs of one cell measured, as a person wants it: the middle, how far they scatter, from where to where. */
export interface ValueSpread {
  /** Standard deviation; null with fewer than two runs. */
  readonly deviation: number | null;
  readonly least: number;
  readonly most: number;
  readonly runs: number;
}

/** Null without any value. */
export function spreadOf(values: readonly number[]): ValueSpread | null {
  if (values.length === 0) return null;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return {
    deviation: values.length < 2 ? null : Math.sqrt(squares / (values.length - 1)),
    least: Math.min(...values),
    most: Math.max(...values),
    runs: values.length,
  };
}

/** `± 0.0007`: no more decimals than the value beside it has. */
export function deviationText(deviation: number | null, value: number, formatted: string): string {
  if (deviation === null) return '';
  const decimals = (/\.(\d+)/.exec(formatted)?.[1] ?? '').length;
  const share = value === 0 ? '' : ` (${((deviation / value) * 100).toFixed(2)} %)`;
  return `± ${deviation.toFixed(decimals)}${share}`;
}
