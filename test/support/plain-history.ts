import type { CellHistory } from '../../src/judge/history/noise.ts';

/** Only values, a sweep each; no facts beside them. */
export function plainHistory(values: readonly number[]): CellHistory {
  return { places: values.map((_, place) => place), values: Float64Array.from(values) };
}
