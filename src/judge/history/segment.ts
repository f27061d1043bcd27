import { at } from '../../statistics/at.ts';

/**
 * Cuts a series into levels by exact least squares: minimizes the sum of squares plus `penalty` per cut, by dynamic
 * programming over the start of the last level (optimal partitioning: Jackson et al. 2005). Ties: the earliest start.
 * @param z in units of its noise
 * @param shortest level in sweeps
 * @returns starts of levels, except the first
 */
export function segment(z: Float64Array, penalty: number, shortest: number): number[] {
  const n = z.length;
  const sums = new Float64Array(n + 1);
  /** Cost of the best cut before each place, less the squares before it. */
  const best = new Float64Array(n + 1).fill(Number.POSITIVE_INFINITY);
  const back = new Float64Array(n + 1);
  best[0] = -penalty;
  for (let t = 1; t <= n; t += 1) {
    const sum = at(sums, t - 1) + at(z, t - 1);
    sums[t] = sum;
    let least = Number.POSITIVE_INFINITY;
    for (let start = 0; start <= t - shortest; start += 1) {
      const difference = sum - (sums[start] ?? 0);
      const total = (best[start] ?? Number.POSITIVE_INFINITY) - (difference * difference) / (t - start);
      if (total >= least) continue;
      least = total;
      back[t] = start;
    }
    best[t] = least + penalty;
  }
  const starts: number[] = [];
  for (let t = at(back, n); t > 0; t = at(back, t)) starts.push(t);
  return starts.toReversed();
}
