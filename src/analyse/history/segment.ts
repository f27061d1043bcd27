/**
 * Cuts a series into levels by exact least squares: the cuts with the least sum of squares plus `penalty` for each.
 * Dynamic programming with the pruning of PELT (Killick, Fearnhead and Eckley 2012), held back until the shortest level
 * fits behind the place that prunes; so the result is the exact one, up to the thinning below in long series.
 * @param z in units of its noise
 * @param shortest level in nights
 * @returns where levels begin, but for the first
 */
export function segment(z: Float64Array, penalty: number, shortest: number): number[] {
  const n = z.length;
  const { sums, squares, reciprocals } = prepare(z);
  const best = new Float64Array(n + 1).fill(Number.POSITIVE_INFINITY);
  best[0] = -penalty;
  const back = new Int32Array(n + 1);
  const starts = new Starts(n + 1);
  for (let t = shortest; t <= n; t += 1) {
    const from = t - shortest;
    starts.add(from, (best[from] ?? 0) - (squares[from] ?? 0), sums[from] ?? 0);
    const least = starts.cheapest(t, sums[t] ?? 0, reciprocals);
    best[t] = least + (squares[t] ?? 0) + penalty;
    back[t] = starts.cheapestStart;
    if (t % PRUNE_EVERY === 0) starts.prune(t, shortest, least + penalty);
    if (t % BLOCK === 0) starts.thinOut(t - FAR_NIGHTS);
  }
  return boundaries(back, n);
}

/**
 * Nothing prunes a series without changes, and 5000 nights would cost 12 million steps. So of the starts that lie far
 * back only the cheapest of each block stays: a change as old as that is told apart from its neighbours by then.
 */
const FAR_NIGHTS = 256;
const BLOCK = 64;

/** Late pruning is as exact as pruning at each step, and a pass over all starts costs as much as the step itself. */
const PRUNE_EVERY = 8;

function prepare(z: Float64Array) {
  const sums = new Float64Array(z.length + 1);
  const squares = new Float64Array(z.length + 1);
  const reciprocals = new Float64Array(z.length + 1);
  for (let i = 0; i < z.length; i += 1) {
    const value = z[i] ?? 0;
    sums[i + 1] = (sums[i] ?? 0) + value;
    squares[i + 1] = (squares[i] ?? 0) + value * value;
    reciprocals[i + 1] = 1 / (i + 1);
  }
  return { sums, squares, reciprocals };
}

/** Where the last level may begin, side by side in typed arrays: the innermost loop of the detector runs over them. */
class Starts {
  cheapestStart = 0;
  private count = 0;
  private readonly places: Int32Array;
  /** Cost of the best cut up to the start, less the squares up to it. */
  private readonly costs: Float64Array;
  private readonly sums: Float64Array;
  private readonly totals: Float64Array;
  /** From this place on a start can be in no best cut any more. */
  private readonly lostFrom: Int32Array;

  constructor(size: number) {
    this.places = new Int32Array(size);
    this.costs = new Float64Array(size);
    this.sums = new Float64Array(size);
    this.totals = new Float64Array(size);
    this.lostFrom = new Int32Array(size);
  }

  add(place: number, cost: number, sum: number): void {
    const at = this.count;
    this.places[at] = place;
    this.costs[at] = cost;
    this.sums[at] = sum;
    this.lostFrom[at] = NEVER;
    this.count += 1;
  }

  /** The least cost of all cuts that end at `t`, less the squares up to it; `cheapestStart` is where its last level begins. */
  cheapest(t: number, sum: number, reciprocals: Float64Array): number {
    const { places, costs, sums, totals, count } = this;
    let least = Number.POSITIVE_INFINITY;
    let from = 0;
    for (let i = 0; i < count; i += 1) {
      const place = places[i] ?? 0;
      const difference = sum - (sums[i] ?? 0);
      const total = (costs[i] ?? 0) - difference * difference * (reciprocals[t - place] ?? 0);
      totals[i] = total;
      if (total < least) {
        least = total;
        from = place;
      }
    }
    this.cheapestStart = from;
    return least;
  }

  /** Starts that cost more than `limit` lose as soon as a level fits behind `t`; those that have lost are let go. */
  prune(t: number, shortest: number, limit: number): void {
    const { totals, lostFrom, count } = this;
    let kept = 0;
    for (let i = 0; i < count; i += 1) {
      const lost = lostFrom[i] ?? NEVER;
      lostFrom[i] = (totals[i] ?? 0) > limit ? Math.min(lost, t + shortest) : lost;
      if ((lostFrom[i] ?? NEVER) <= t + 1) continue;
      this.move(i, kept);
      kept += 1;
    }
    this.count = kept;
  }

  /** Of the starts of the block that ends before `before`, keeps the cheapest. */
  thinOut(before: number): void {
    const { places, totals, count } = this;
    if (before < BLOCK) return;
    let first = 0;
    while (first < count && (places[first] ?? 0) < before - BLOCK) first += 1;
    let end = first;
    let cheapest = first;
    for (; end < count && (places[end] ?? 0) < before; end += 1) {
      if ((totals[end] ?? 0) < (totals[cheapest] ?? 0)) cheapest = end;
    }
    if (end - first < 2) return;
    this.move(cheapest, first);
    for (let i = end; i < count; i += 1) this.move(i, first + 1 + i - end);
    this.count = count - (end - first) + 1;
  }

  private move(from: number, to: number): void {
    this.places[to] = this.places[from] ?? 0;
    this.costs[to] = this.costs[from] ?? 0;
    this.sums[to] = this.sums[from] ?? 0;
    this.totals[to] = this.totals[from] ?? 0;
    this.lostFrom[to] = this.lostFrom[from] ?? NEVER;
  }
}

const NEVER = 2 ** 31 - 1;

function boundaries(back: Int32Array, n: number): number[] {
  const found: number[] = [];
  for (let t = back[n] ?? 0; t > 0; t = back[t] ?? 0) found.push(t);
  return found.toReversed();
}
