import type { CellHistory } from '../../src/judge/history/noise.ts';

/** Only values, a sweep each; no facts beside them. */
export function plainHistory(values: readonly number[]): CellHistory {
  return { nights: values.map((_, night) => night), values: Float64Array.from(values) };
}
