import { at } from './at.ts';

/** Finite numbers in order, for quantiles of a window that moves: they are those of `order-statistics.ts`. */
export class SortedWindow {
  count = 0;
  /** Neighbors that are equal. */
  ties = 0;
  private readonly sorted: Float64Array;

  /** @param most of them at once */
  constructor(most: number) {
    this.sorted = new Float64Array(most);
  }

  add(value: number): void {
    const place = this.placeOf(value);
    if (place < this.count && this.sorted[place] === value) this.ties += 1;
    this.sorted.copyWithin(place + 1, place, this.count);
    this.sorted[place] = value;
    this.count += 1;
  }

  /** @param value one of them */
  remove(value: number): void {
    const place = this.placeOf(value);
    if (place + 1 < this.count && this.sorted[place + 1] === value) this.ties -= 1;
    this.sorted.copyWithin(place, place + 1, this.count);
    this.count -= 1;
  }

  /** Linear interpolation, as in `scaleOf`. 0 of nothing. */
  quantile(p: number): number {
    if (this.count === 0) return 0;
    const place = p * (this.count - 1);
    const below = Math.floor(place);
    const low = at(this.sorted, below);
    return place === below ? low : low + (place - below) * (at(this.sorted, below + 1) - low);
  }

  /** 0 of nothing. */
  median(): number {
    if (this.count === 0) return 0;
    const middle = this.count >> 1;
    const upper = at(this.sorted, middle);
    return this.count % 2 === 1 ? upper : (at(this.sorted, middle - 1) + upper) / 2;
  }

  /** Median distance from one of them or a value between two. 0 of nothing. */
  medianApart(value: number): number {
    const { count, sorted } = this;
    if (count === 0) return 0;
    let above = this.placeOf(value);
    let below = above - 1;
    let [before, last] = [0, 0];
    for (let taken = 0; taken <= count >> 1; taken += 1) {
      before = last;
      const up = above < count ? Math.abs(at(sorted, above) - value) : Number.POSITIVE_INFINITY;
      const down = below >= 0 ? Math.abs(at(sorted, below) - value) : Number.POSITIVE_INFINITY;
      if (up <= down) above += 1;
      else below -= 1;
      last = Math.min(up, down);
    }
    return count % 2 === 1 ? last : (before + last) / 2;
  }

  /** Between two of them that differ; infinite where none do. */
  leastGap(): number {
    let least = Number.POSITIVE_INFINITY;
    for (let place = 1; place < this.count; place += 1) {
      const gap = at(this.sorted, place) - at(this.sorted, place - 1);
      if (gap > 0 && gap < least) least = gap;
    }
    return least;
  }

  /** Of the first that is not smaller. */
  private placeOf(value: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at(this.sorted, middle) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
