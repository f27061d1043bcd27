import type { RunFlag } from '../../records/run-flag.ts';
import { type ComputeTimes, percent } from './facts.ts';

const RULE = {
  leastQueries: 100,
  /** At either end so many of the queries are outliers. */
  trimmed: 0.01,
  /** Either level has at least so many of the others. */
  leastShare: 0.1,
  /** Distance of the levels, of the lower one: the power-limited cells wander by 4 %. */
  leastApart: 0.08,
  /** ... and in standard deviations within them: a bell has 2.6, a flat hill 3.5. */
  deviations: 6,
} as const;

/** The times of the queries have two levels, such as two states of the clock. By the cut with the least squares (Otsu 1979). */
export function bimodal({ sorted }: ComputeTimes): RunFlag | null {
  if (sorted.length < RULE.leastQueries) return null;
  const trimmed = Math.ceil(RULE.trimmed * sorted.length);
  const values = sorted.subarray(trimmed, sorted.length - trimmed);
  // Nearly all runs end here: their queries lie closer together than two levels.
  const [least = 0] = values;
  if ((values.at(-1) ?? 0) < (1 + RULE.leastApart) * least) return null;
  const { low, lower, upper, deviation } = cut(values);
  const share = low / values.length;
  const apart = upper / lower - 1;
  const isClear =
    Math.min(share, 1 - share) >= RULE.leastShare &&
    apart >= RULE.leastApart &&
    upper - lower >= RULE.deviations * deviation;
  if (!isClear) return null;
  return {
    id: 'bimodal',
    effect: 'widened',
    value: apart * 100,
    evidence: `two levels of GPU time: ${lower.toPrecision(4)} ms in ${percent(share)} of the queries, ${upper.toPrecision(4)} ms in the others`,
  };
}

interface Cut {
  /** Values on the lower side. */
  readonly low: number;
  readonly lower: number;
  readonly upper: number;
  /** Within the two sides. */
  readonly deviation: number;
}

function cut(values: Float64Array): Cut {
  const [origin = 0] = values;
  let sum = 0;
  let squares = 0;
  for (const value of values) {
    sum += value - origin;
    squares += (value - origin) ** 2;
  }
  const n = values.length;
  let below = 0;
  let best = { low: 1, between: -1, lower: 0, upper: 0 };
  for (let low = 1; low < n; low += 1) {
    below += (values[low - 1] ?? 0) - origin;
    const lower = below / low;
    const upper = (sum - below) / (n - low);
    const between = low * (n - low) * (upper - lower) ** 2;
    if (between > best.between) best = { low, between, lower, upper };
  }
  const { low, lower, upper } = best;
  const within = squares - low * lower ** 2 - (n - low) * upper ** 2;
  return { low, lower: lower + origin, upper: upper + origin, deviation: Math.sqrt(Math.max(0, within) / n) };
}
