import { at } from '../../statistics/at.ts';

/**
 * Candidate starts of the last level in typed arrays: the innermost loops of the detector. A cut that ends at `t` with
 * its last level from a start costs `cost - (sum at t - sum)² / (t - place)`, plus squares.
 */
export class SegmentStarts {
  /** Start of the least cost requested last. */
  cheapestStart = 0;
  private cheapestAt = 0;
  private count = 0;
  private summarised = 0;
  /** Places before it are unchanged since they were summarized. */
  private unmoved = 0;
  private readonly reciprocals: Float64Array;
  private readonly places: Float64Array;
  /** Cost of the best cut up to the start, less the squares up to it. */
  private readonly costs: Float64Array;
  private readonly sums: Float64Array;
  /** As of the last pass over all starts. */
  private readonly totals: Float64Array;
  /** From this place on a start is in no best cut. */
  private readonly lostFrom: Float64Array;
  /**
   * Per group of starts: the slope of its sums per sweep, and without that slope its least cost and range of sums,
   * which bounds starts far from 0.
   */
  private readonly slopes: Float64Array;
  private readonly leastCosts: Float64Array;
  private readonly leastSums: Float64Array;
  private readonly mostSums: Float64Array;

  /** @param reciprocals of 1 to the number of sweeps; index 0 is unused */
  constructor(reciprocals: Float64Array) {
    const size = reciprocals.length;
    const groups = Math.ceil(size / GROUP);
    this.reciprocals = reciprocals;
    this.places = new Float64Array(size);
    this.costs = new Float64Array(size);
    this.sums = new Float64Array(size);
    this.totals = new Float64Array(size);
    this.lostFrom = new Float64Array(size);
    this.slopes = new Float64Array(groups);
    this.leastCosts = new Float64Array(groups);
    this.leastSums = new Float64Array(groups);
    this.mostSums = new Float64Array(groups);
  }

  add(place: number, cost: number, sum: number): void {
    const next = this.count;
    this.places[next] = place;
    this.costs[next] = cost;
    this.sums[next] = sum;
    this.lostFrom[next] = NEVER;
    this.count += 1;
  }

  /** The least cost of all cuts that end at `t`, less squares. Ties: the earliest start. */
  cheapestOfAll(t: number, sum: number): number {
    const { places, costs, sums, totals, reciprocals, count } = this;
    let least = Number.POSITIVE_INFINITY;
    let cheapest = 0;
    for (let i = 0; i < count; i += 1) {
      const difference = sum - at(sums, i);
      const share = at(reciprocals, t - at(places, i));
      const total = at(costs, i) - difference * difference * share;
      totals[i] = total;
      if (total < least) {
        least = total;
        cheapest = i;
      }
    }
    this.cheapestAt = cheapest;
    this.cheapestStart = at(places, cheapest);
    return least;
  }

  /** The same, skipping groups without a possible minimum, which are nearly all. */
  cheapest(t: number, sum: number): number {
    const { places, costs, sums, reciprocals, summarised, count } = this;
    const { slopes, leastCosts, leastSums, mostSums } = this;
    const known = this.totalOf(Math.min(this.cheapestAt, count - 1), t, sum);
    const enough = known + ROUNDING * (1e9 + Math.abs(known));
    let least = Number.POSITIVE_INFINITY;
    let cheapest = 0;
    for (let from = 0, group = 0; from < count; from += GROUP, group += 1) {
      if (from < summarised) {
        const slope = at(slopes, group);
        const own = sum - slope * t;
        const below = own - at(leastSums, group);
        const above = at(mostSums, group) - own;
        const farthest = below > above ? below : above;
        // The last start of a group is the nearest to `t`.
        const share = at(reciprocals, t - at(places, from + GROUP - 1));
        const cost = at(leastCosts, group) - slope * (sum + own);
        if (cost - farthest * farthest * share > enough) continue;
      }
      const to = from + GROUP < count ? from + GROUP : count;
      for (let i = from; i < to; i += 1) {
        const difference = sum - at(sums, i);
        const share = at(reciprocals, t - at(places, i));
        const total = at(costs, i) - difference * difference * share;
        if (total < least) {
          least = total;
          cheapest = i;
        }
      }
    }
    this.cheapestAt = cheapest;
    this.cheapestStart = at(places, cheapest);
    return least;
  }

  /** Updates the bounds that `cheapest` uses; call after pruning and thinning. */
  summarise(): void {
    const { places, costs, sums, count } = this;
    const known = Math.min(this.summarised, this.unmoved);
    this.summarised = count - (count % GROUP);
    this.unmoved = count;
    for (let from = known - (known % GROUP); from < this.summarised; from += GROUP) {
      const last = from + GROUP - 1;
      const nights = at(places, last) - at(places, from);
      const slope = (at(sums, last) - at(sums, from)) / nights;
      let cost = Number.POSITIVE_INFINITY;
      let low = Number.POSITIVE_INFINITY;
      let high = Number.NEGATIVE_INFINITY;
      for (let i = from; i <= last; i += 1) {
        const sum = at(sums, i);
        const own = sum - slope * at(places, i);
        cost = Math.min(cost, at(costs, i) + slope * (sum + own));
        low = Math.min(low, own);
        high = Math.max(high, own);
      }
      const group = from / GROUP;
      this.slopes[group] = slope;
      this.leastCosts[group] = cost;
      this.leastSums[group] = low;
      this.mostSums[group] = high;
    }
  }

  /** Starts above `limit` lose as soon as a level fits behind `t`; removes those that have lost. */
  prune(t: number, shortest: number, limit: number): void {
    const { totals, lostFrom, count } = this;
    let kept = 0;
    for (let i = 0; i < count; i += 1) {
      const lost = at(lostFrom, i);
      if (lost <= t + 1) continue;
      if (lost === NEVER && at(totals, i) > limit) lostFrom[i] = t + shortest;
      if (kept < i) this.move(i, kept);
      kept += 1;
    }
    this.count = kept;
  }

  /** Keeps the cheapest start of the block that ends before `before`. */
  thinOut(before: number, block: number): void {
    const { places, totals, count } = this;
    if (before < block) return;
    let first = 0;
    while (first < count && at(places, first) < before - block) first += 1;
    let end = first;
    let cheapest = first;
    for (; end < count && at(places, end) < before; end += 1) {
      if (at(totals, end) < at(totals, cheapest)) cheapest = end;
    }
    if (end - first < 2) return;
    this.move(cheapest, first);
    for (let i = end; i < count; i += 1) this.move(i, first + 1 + i - end);
    this.count = count - (end - first) + 1;
  }

  private totalOf(start: number, t: number, sum: number): number {
    const difference = sum - at(this.sums, start);
    const share = at(this.reciprocals, t - at(this.places, start));
    return at(this.costs, start) - difference * difference * share;
  }

  private move(from: number, to: number): void {
    if (from === to) return;
    this.unmoved = Math.min(this.unmoved, to);
    if (this.cheapestAt === from) this.cheapestAt = to;
    this.places[to] = at(this.places, from);
    this.costs[to] = at(this.costs, from);
    this.sums[to] = at(this.sums, from);
    this.totals[to] = at(this.totals, from);
    this.lostFrom[to] = at(this.lostFrom, from);
  }
}

const GROUP = 16;

/** Far above the relative error of a sum; times `1e9` still far below a penalty. */
const ROUNDING = 1e-12;

const NEVER = 2 ** 31 - 1;
