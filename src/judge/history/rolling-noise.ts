import { at } from '../../statistics/at.ts';
import { scaleFrom } from '../../statistics/order-statistics.ts';
import { SortedWindow } from '../../statistics/sorted-window.ts';
import { clippedTo, isCoarse, LEAST_FLOOR, type NightlyValues, queryError, smallMedian, timerNoise } from './noise.ts';
import { ALERTING, HISTORY } from './settings.ts';

const { clipHalf } = HISTORY;
const SLOW_LAGS = [3, 5, 8] as const;

/** `noiseFloor` and `noiseOf` of a window that moves sweep by sweep, value by value the same. By index of the sweep. */
export class RollingNoise {
  readonly logs: Float64Array;
  /** Of the window as of now. */
  readonly clipped: Float64Array;
  /** The window. */
  from = 0;
  to = 0;
  private readonly values: Float64Array;
  private readonly errors: readonly (number | null)[];
  private readonly sortedValues = windowed();
  private readonly sortedErrors = windowed();
  private readonly raw: Lag;
  private readonly neighbours: Lag;
  private readonly slow: readonly Lag[];
  /** Of full windows of the clip. */
  private readonly middles: Float64Array;
  private watched: Watched[] = [];
  private readonly buffer = new Float64Array(2 * clipHalf + 1);

  constructor({ values, spread = [], count = [] }: NightlyValues) {
    this.values = values;
    this.errors = Array.from(values, (_, sweep) => queryError(spread[sweep], count[sweep]));
    this.logs = values.map(Math.log);
    this.clipped = this.logs.slice();
    this.middles = new Float64Array(values.length);
    this.raw = new Lag(this.logs, 1);
    this.neighbours = new Lag(this.clipped, 1);
    this.slow = SLOW_LAGS.map((lag) => new Lag(this.clipped, lag));
  }

  /** @param to sweeps until then, as many as the time before or more; at least 2 */
  moveTo(to: number) {
    const from = Math.max(0, to - ALERTING.windowNights);
    while (this.to < to) {
      if (this.from < this.to - ALERTING.windowNights + 1) this.drop();
      this.add();
    }
    while (this.from < from) this.drop();
    const floor = this.floor();
    this.clip(Math.max(this.raw.scale(0.5), 0.75 * this.raw.scale(0.75), floor));
    const { neighbours } = this;
    const sigma = Math.max(neighbours.scale(0.5), neighbours.scale(0.75), floor);
    return { sigma, slowFactor: Math.max(1, ...this.slow.map((lag) => lag.scale(0.5) / sigma)) };
  }

  /** As of a level: kept in order, for the next time that about these sweeps are asked for. */
  sorted(from: number, to: number): SortedWindow {
    const { clipped } = this;
    const found = this.watched.find((one) => Math.abs(one.from - from) + Math.abs(one.to - to) <= NEAR);
    const range = found ?? { from, to: from, sorted: windowed() };
    while (range.from < from) range.sorted.remove(at(clipped, range.from++));
    while (range.to > to) range.sorted.remove(at(clipped, --range.to));
    while (range.from > from) range.sorted.add(at(clipped, --range.from));
    while (range.to < to) range.sorted.add(at(clipped, range.to++));
    if (this.watched[0] !== range) {
      this.watched = [range, ...this.watched.filter((one) => one !== range)].slice(0, MOST_WATCHED);
    }
    return range.sorted;
  }

  private add(): void {
    const sweep = this.to;
    this.to += 1;
    this.sortedValues.add(at(this.values, sweep));
    const error = this.errors[sweep] ?? null;
    if (error !== null) this.sortedErrors.add(error);
    for (const lag of this.lags()) lag.add(this.from, sweep);
    const middle = sweep - clipHalf;
    if (middle >= clipHalf) this.middles[middle] = smallMedian(this.logs, middle - clipHalf, this.to, this.buffer);
  }

  private drop(): void {
    const sweep = this.from;
    this.from += 1;
    this.sortedValues.remove(at(this.values, sweep));
    const error = this.errors[sweep] ?? null;
    if (error !== null) this.sortedErrors.remove(error);
    for (const lag of this.lags()) lag.drop(sweep, this.to);
  }

  private lags(): readonly Lag[] {
    return [this.raw, this.neighbours, ...this.slow];
  }

  private floor(): number {
    const { sortedErrors, sortedValues } = this;
    const { count, ties } = sortedValues;
    const timer = isCoarse(count - ties, count) ? timerNoise(sortedValues.leastGap(), sortedValues.median()) : 0;
    return Math.max(timer, sortedErrors.median(), LEAST_FLOOR);
  }

  private clip(sigma: number): void {
    const { clipped, from, logs, middles, to } = this;
    for (let sweep = from; sweep < to; sweep += 1) {
      const isInside = sweep - from >= clipHalf && to - sweep > clipHalf;
      const middle = isInside ? at(middles, sweep) : this.middleAt(sweep);
      const value = clippedTo(at(logs, sweep), middle, sigma);
      if (value === at(clipped, sweep)) continue;
      for (const range of this.watched) {
        if (sweep < range.from || sweep >= range.to) continue;
        range.sorted.remove(at(clipped, sweep));
        range.sorted.add(value);
      }
      clipped[sweep] = value;
      this.neighbours.change(sweep, from, to);
      for (const lag of this.slow) lag.change(sweep, from, to);
    }
  }

  private middleAt(sweep: number): number {
    const [from, to] = [Math.max(this.from, sweep - clipHalf), Math.min(this.to, sweep + clipHalf + 1)];
    return smallMedian(this.logs, from, to, this.buffer);
  }
}

/** Clipped values of some sweeps. */
interface Watched {
  from: number;
  to: number;
  readonly sorted: SortedWindow;
}

/** A level begins and ends about where it did in the sweep before. */
const NEAR = 8;
const MOST_WATCHED = 6;

/** Absolute differences of the values of a window that are `lag` apart, in order. */
class Lag {
  private readonly values: Float64Array;
  private readonly lag: number;
  /** By the earlier sweep. */
  private readonly apart: Float64Array;
  private readonly sorted = windowed();

  constructor(values: Float64Array, lag: number) {
    this.values = values;
    this.lag = lag;
    this.apart = new Float64Array(values.length);
  }

  /** @param from first sweep of the window */
  add(from: number, sweep: number): void {
    const earlier = sweep - this.lag;
    if (earlier < from) return;
    const apart = this.apartAt(earlier);
    this.apart[earlier] = apart;
    this.sorted.add(apart);
  }

  /** @param to end of the window */
  drop(sweep: number, to: number): void {
    if (sweep + this.lag < to) this.sorted.remove(at(this.apart, sweep));
  }

  /** A value is another one. */
  change(sweep: number, from: number, to: number): void {
    if (sweep - this.lag >= from) this.renew(sweep - this.lag);
    if (sweep + this.lag < to) this.renew(sweep);
  }

  /** As `scaleOf`. */
  scale(q: 0.5 | 0.75): number {
    return this.sorted.count < 2 ? 0 : scaleFrom(this.sorted.quantile(q), q);
  }

  private renew(earlier: number): void {
    const apart = this.apartAt(earlier);
    const before = at(this.apart, earlier);
    if (apart === before) return;
    this.sorted.remove(before);
    this.sorted.add(apart);
    this.apart[earlier] = apart;
  }

  private apartAt(earlier: number): number {
    return Math.abs(at(this.values, earlier + this.lag) - at(this.values, earlier));
  }
}

function windowed(): SortedWindow {
  return new SortedWindow(ALERTING.windowNights + 1);
}
