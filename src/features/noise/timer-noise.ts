import { at } from '../../statistics/at.ts';
import { medianIn } from '../../statistics/order-statistics.ts';

/**
 * Relative standard deviation of what a timer rounds, from the least gap of the values (a uniform error: step / √12); 0
 * where their many different values show none.
 * @param values positive
 */
export function timerNoise(values: readonly number[] | Float64Array): number {
  const sorted = Float64Array.from(values).toSorted();
  const gaps = sorted
    .subarray(1)
    .map((value, place) => value - at(sorted, place))
    .filter((gap) => gap > 0);
  const isCoarse = gaps.length > 0 && gaps.length + 1 <= Math.max(3, 0.6 * sorted.length);
  return isCoarse ? Math.min(...gaps) / medianIn(sorted, 0, sorted.length) / Math.sqrt(12) : 0;
}
