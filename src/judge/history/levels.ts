import { at } from '../../statistics/at.ts';
import { type Level, levelOf, marginOf, type NoisySeries } from './level.ts';
import { middleOf } from '../../statistics/order-statistics.ts';

/** The levels of a series and the margins between neighbours, kept in step while levels are joined. */
export class Levels {
  readonly series: NoisySeries;
  private readonly list: Level[];
  private readonly margins: number[];

  /** @param starts where levels begin, but for the first */
  constructor(series: NoisySeries, starts: readonly number[]) {
    const edges = Float64Array.of(0, ...starts, series.logs.length);
    this.series = series;
    this.list = Array.from({ length: starts.length + 1 }, (_, index) =>
      levelOf(series.clipped, at(edges, index), at(edges, index + 1)),
    );
    this.margins = [];
    for (let boundary = 0; boundary < starts.length; boundary += 1) this.reckon(boundary);
  }

  get levels(): readonly Level[] {
    return this.list;
  }

  /** Boundary `i` lies between level `i` and the next. */
  marginAt(boundary: number): number {
    const margin = this.margins[boundary];
    if (margin === undefined) throw new RangeError(`no boundary ${boundary} between ${this.list.length} levels`);
    return margin;
  }

  /** Joins levels across the weakest boundary until all have a margin of 1. */
  dropWeak(): void {
    for (;;) {
      const weakest = this.margins.indexOf(Math.min(...this.margins));
      if (weakest === -1 || this.marginAt(weakest) >= 1) return;
      const [before, after] = [this.list[weakest], this.list[weakest + 1]];
      if (before === undefined || after === undefined) return;
      this.replace(weakest, 2, levelOf(this.series.clipped, before.from, after.to));
    }
  }

  /**
   * Takes a level out: joins it with both its neighbours, or with the one before when it is the newest. Its own nights
   * do not move the median of the joined level.
   */
  takeOut(index: number): void {
    const before = this.list[index - 1];
    const after = this.list[index + 1];
    const taken = this.list[index];
    if (before === undefined || taken === undefined) return;
    const last = after ?? taken;
    const { clipped } = this.series;
    const kept = [...clipped.subarray(before.from, before.to)];
    if (after !== undefined) kept.push(...clipped.subarray(after.from, after.to));
    const joined = levelOf(clipped, before.from, last.to);
    const median = middleOf(Float64Array.from(kept));
    this.replace(index - 1, after === undefined ? 2 : 3, { ...joined, median });
  }

  private replace(from: number, count: number, level: Level): void {
    this.list.splice(from, count, level);
    this.margins.splice(from, count - 1);
    if (from > 0) this.reckon(from - 1);
    if (from < this.margins.length) this.reckon(from);
  }

  private reckon(boundary: number): void {
    const [before, after] = [this.list[boundary], this.list[boundary + 1]];
    if (before === undefined || after === undefined) return;
    this.margins[boundary] = marginOf(this.series, before, after);
  }
}
