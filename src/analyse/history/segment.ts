/**
 * Cuts a series into levels by exact least squares: the cuts with the least sum of squares plus `penalty` for each.
 * Dynamic programming with the pruning of PELT (Killick, Fearnhead and Eckley 2012), held back until the shortest level
 * fits behind the place that prunes; so the result is the exact one.
 * @param z in units of its noise
 * @param shortest level in nights
 * @returns where levels begin, but for the first
 */
export function segment(z: Float64Array, penalty: number, shortest: number): number[] {
  const n = z.length;
  const { sums, squares } = prefixSums(z);
  const best = new Float64Array(n + 1).fill(Number.POSITIVE_INFINITY);
  const back = new Int32Array(n + 1);
  best[0] = -penalty;
  const starts = new Int32Array(n + 1);
  const endOfStart = new Int32Array(n + 1).fill(n + 1);
  const costs = new Float64Array(n + 1);
  let candidates = 0;
  for (let t = shortest; t <= n; t += 1) {
    starts[candidates] = t - shortest;
    candidates += 1;
    const sum = sums[t] ?? 0;
    const square = squares[t] ?? 0;
    let least = Number.POSITIVE_INFINITY;
    let from = 0;
    for (let i = 0; i < candidates; i += 1) {
      const j = starts[i] ?? 0;
      const d = sum - (sums[j] ?? 0);
      const cost = (best[j] ?? 0) + square - (squares[j] ?? 0) - (d * d) / (t - j);
      costs[i] = cost;
      if (cost < least) {
        least = cost;
        from = j;
      }
    }
    best[t] = least + penalty;
    back[t] = from;
    candidates = prune(starts, costs, endOfStart, candidates, t, least + penalty, shortest);
  }
  return boundaries(back, n);
}

function prefixSums(z: Float64Array): { sums: Float64Array; squares: Float64Array } {
  const sums = new Float64Array(z.length + 1);
  const squares = new Float64Array(z.length + 1);
  for (let i = 0; i < z.length; i += 1) {
    const value = z[i] ?? 0;
    sums[i + 1] = (sums[i] ?? 0) + value;
    squares[i + 1] = (squares[i] ?? 0) + value * value;
  }
  return { sums, squares };
}

/** Takes out the starts that can be in no best cut any more; a start that loses at t may still win before t + shortest. */
function prune(
  starts: Int32Array,
  costs: Float64Array,
  endOfStart: Int32Array,
  candidates: number,
  t: number,
  bestHere: number,
  shortest: number,
): number {
  let kept = 0;
  for (let i = 0; i < candidates; i += 1) {
    const j = starts[i] ?? 0;
    if ((costs[i] ?? 0) > bestHere && (endOfStart[j] ?? 0) > t + shortest) {
      endOfStart[j] = t + shortest;
    }
    if ((endOfStart[j] ?? 0) > t + 1) {
      starts[kept] = j;
      kept += 1;
    }
  }
  return kept;
}

function boundaries(back: Int32Array, n: number): number[] {
  const found: number[] = [];
  for (let t = back[n] ?? 0; t > 0; t = back[t] ?? 0) found.push(t);
  return found.toReversed();
}
