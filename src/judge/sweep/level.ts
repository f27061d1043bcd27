import { at } from '../../statistics/at.ts';
import { middleOfThree } from '../../statistics/median.ts';
import { RULES } from './settings.ts';

/** Twice the longest window: a window can be taken back and the next one still be looked at. */
const KEPT = 32;

/** Levels of so few sweeps are computed anew with each. */
const YOUNG = 8;
const SCRATCH = new Float64Array(YOUNG);

/** The sweeps at one level: a mean in which no sweep counts by more than its limit, the newest values, and sums for a line. */
export class Level {
  readonly first: number;
  count = 0;
  mean = 0;
  /** Mean of the first three sweeps. */
  startMean = 0;
  /** Mean of the first sweeps, at most `referenceSweeps`. */
  referenceMean = 0;
  readonly #origin: number;
  /** Newest values and the mean before each, by count modulo KEPT. */
  readonly #values = new Float64Array(KEPT);
  readonly #means = new Float64Array(KEPT);
  readonly #places = new Float64Array(KEPT);
  #sumT = 0;
  #sumY = 0;
  #sumTT = 0;
  #sumTY = 0;
  #sumYY = 0;

  constructor(place: number, value: number) {
    this.first = place;
    this.#origin = value;
    this.add(place, value, Number.POSITIVE_INFINITY);
  }

  /** A level that is known as the mean of this many sweeps. */
  static of(place: number, log: number, sweeps: number): Level {
    const level = new Level(place, log);
    for (let i = 1; i < sweeps; i += 1) level.add(place, log, Infinity);
    return level;
  }

  /** Goes on with the newest sweeps of a level that is this one again. */
  follow(level: Level): void {
    for (let back = Math.min(level.count, RULES.longestWindow); back > 0; back -= 1) {
      this.add(level.placeAt(back), level.valueAt(back), Infinity);
    }
  }

  /** The one sweep that it had was an accident: it is what followed. */
  restart(level: Level): void {
    this.count = 0;
    this.mean = 0;
    this.#sumT = this.#sumY = this.#sumTT = this.#sumTY = this.#sumYY = 0;
    this.follow(level);
  }

  /** @param limit how far the value may pull the mean, as if it lay so far off */
  add(place: number, value: number, limit: number): void {
    const slot = this.count % KEPT;
    this.#places[slot] = place;
    this.#values[slot] = value;
    this.#means[slot] = this.mean;
    this.count += 1;
    this.mean += Math.max(-limit, Math.min(limit, value - this.mean)) / this.count;
    if (this.count > 2 && this.count <= YOUNG) this.mean = this.#robustMean();
    if (this.count <= RULES.referenceSweeps) this.referenceMean = this.mean;
    if (this.count <= 3) this.startMean = this.mean;
    const t = place - this.first;
    const y = value - this.#origin;
    this.#sumT += t;
    this.#sumY += y;
    this.#sumTT += t * t;
    this.#sumTY += t * y;
    this.#sumYY += y * y;
  }

  /** Mean of a young level: no value counts by more than 2.5 sd by the median deviation (Huber 1964). */
  #robustMean(): number {
    const sorted = SCRATCH.subarray(0, this.count);
    for (let i = 0; i < this.count; i += 1) sorted[i] = at(this.#values, i);
    sorted.sort();
    const middle = (at(sorted, this.count >> 1) + at(sorted, (this.count - 1) >> 1)) / 2;
    for (let i = 0; i < this.count; i += 1) sorted[i] = Math.abs(at(this.#values, i) - middle);
    sorted.sort();
    const limit = 2.5 * 1.4826 * ((at(sorted, this.count >> 1) + at(sorted, (this.count - 1) >> 1)) / 2) + 2.5e-4;
    let sum = 0;
    for (let i = 0; i < this.count; i += 1) sum += Math.max(-limit, Math.min(limit, at(this.#values, i) - middle));
    return middle + sum / this.count;
  }

  /** The `back`-th newest value, 1 for the newest. */
  valueAt(back: number): number {
    return at(this.#values, (this.count - back) % KEPT);
  }

  placeAt(back: number): number {
    return at(this.#places, (this.count - back) % KEPT);
  }

  /** Median of the newest three values. */
  get newestMiddle(): number {
    return middleOfThree(this.valueAt(1), this.valueAt(2), this.valueAt(3));
  }

  /** Mean before the newest `sweeps` were added. */
  meanBefore(sweeps: number): number {
    return at(this.#means, (this.count - sweeps) % KEPT);
  }

  /** A level of the newest `sweeps` alone. */
  newest(sweeps: number): Level {
    const level = new Level(this.placeAt(sweeps), this.valueAt(sweeps));
    for (let back = sweeps - 1; back > 0; back -= 1) level.add(this.placeAt(back), this.valueAt(back), Infinity);
    return level;
  }

  /** Takes the newest `sweeps` back. */
  forget(sweeps: number): void {
    for (let back = 1; back <= sweeps; back += 1) {
      const t = this.placeAt(back) - this.first;
      const y = this.valueAt(back) - this.#origin;
      this.#sumT -= t;
      this.#sumY -= y;
      this.#sumTT -= t * t;
      this.#sumTY -= t * y;
      this.#sumYY -= y * y;
    }
    this.mean = this.meanBefore(sweeps);
    this.count -= sweeps;
    if (this.count <= RULES.referenceSweeps) this.referenceMean = this.mean;
  }

  /** Slope, squares it leaves and squares of the places. */
  line(): { slope: number; rest: number; places: number } {
    const n = this.count;
    const places = this.#sumTT - (this.#sumT * this.#sumT) / n;
    const both = this.#sumTY - (this.#sumT * this.#sumY) / n;
    const values = this.#sumYY - (this.#sumY * this.#sumY) / n;
    return { slope: both / places, rest: Math.max(0, values - (both * both) / places), places };
  }

  /** Squares that a step before the newest `sweeps` leaves. */
  restOfStep(sweeps: number): number {
    let sum = 0;
    let squares = 0;
    for (let back = 1; back <= sweeps; back += 1) {
      const y = this.valueAt(back) - this.#origin;
      sum += y;
      squares += y * y;
    }
    const old = this.count - sweeps;
    return squares - (sum * sum) / sweeps + (this.#sumYY - squares) - (this.#sumY - sum) ** 2 / old;
  }
}
