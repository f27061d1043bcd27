import type { NightlyValues } from '../../src/judge/history/noise.ts';

/** Only values, a night each; no facts beside them. */
export function plainHistory(values: readonly number[]): NightlyValues {
  const unknown = values.map(() => null);
  return {
    nights: values.map((_, night) => night),
    values: Float64Array.from(values),
    spread: unknown,
    count: unknown,
    clock: unknown,
  };
}
