import { at, middleOfThree } from '../../statistics/order-statistics.ts';
import type { CellNoise } from './cell-noise.ts';
import { RULES } from './settings.ts';

/** More than the longest window. */
const KEPT = 32;

/** The mean of the sweeps of a level, its newest values, and sums for a line. */
export class Level {
  readonly first: number;
  count = 0;
  mean = 0;
  startMean = 0;
  referenceMean = 0;
  readonly #origin: number;
  readonly #values = new Float64Array(KEPT);
  readonly #places = new Float64Array(KEPT);
  readonly #means = new Float64Array(KEPT);
  #sumT = 0;
  #sumY = 0;
  #sumTT = 0;
  #sumTY = 0;
  #sumYY = 0;

  constructor(place: number, value: number) {
    this.first = place;
    this.#origin = value;
    this.add(place, value);
  }

  add(place: number, value: number): void {
    const slot = this.count % KEPT;
    this.#places[slot] = place;
    this.#values[slot] = value;
    this.#means[slot] = this.mean;
    this.#sum(place, value, 1);
    this.mean += (value - this.mean) / this.count;
    if (this.count <= RULES.referenceSweeps) this.referenceMean = this.mean;
    if (this.count <= 3) this.startMean = this.mean;
  }

  /** Takes the newest sweeps back, which belong to another level. */
  drop(sweeps: number): void {
    this.mean = this.meanBefore(sweeps);
    for (let left = sweeps; left > 0; left -= 1) this.#sum(this.placeAt(1), this.valueAt(1), -1);
    if (this.count <= RULES.referenceSweeps) this.referenceMean = this.mean;
    if (this.count <= 3) this.startMean = this.mean;
  }

  #sum(place: number, value: number, sign: 1 | -1): void {
    const t = sign * (place - this.first);
    const y = value - this.#origin;
    this.count += sign;
    this.#sumT += t;
    this.#sumY += sign * y;
    this.#sumTT += t * (place - this.first);
    this.#sumTY += t * y;
    this.#sumYY += sign * y * y;
  }

  /** Adds the newest sweeps of a level that turned out to be the same as this one. */
  follow(level: Level): void {
    for (let back = Math.min(level.count, RULES.longestWindow); back > 0; back -= 1)
      this.add(level.placeAt(back), level.valueAt(back));
  }

  newest(sweeps: number): Level {
    const level = new Level(this.placeAt(sweeps), this.valueAt(sweeps));
    for (let back = sweeps - 1; back > 0; back -= 1) level.add(this.placeAt(back), this.valueAt(back));
    return level;
  }

  valueAt(back: number): number {
    return at(this.#values, (this.count - back) % KEPT);
  }

  placeAt(back: number): number {
    return at(this.#places, (this.count - back) % KEPT);
  }

  get newestMiddle(): number {
    return middleOfThree(this.valueAt(1), this.valueAt(2), this.valueAt(3));
  }

  meanBefore(sweeps: number): number {
    return at(this.#means, (this.count - sweeps) % KEPT);
  }

  /** Difference of the mean of the newest `sweeps` from the mean before them. */
  meanOfNewest(sweeps: number): number {
    let sum = 0;
    for (let back = 1; back <= sweeps; back += 1) sum += this.valueAt(back);
    return sum / sweeps - this.meanBefore(sweeps);
  }

  /** Number of the newest sweeps, 2 to `longestWindow`, that are likeliest a level of their own. */
  likeliestStep(): number {
    let best = 2;
    let most = 0;
    let sum = this.valueAt(1);
    for (let window = 2; window < this.count && window <= RULES.longestWindow; window += 1) {
      sum += this.valueAt(window);
      // Sum of squares that a step before these sweeps explains.
      const gain = (sum / window - this.meanBefore(window)) ** 2 / (1 / window + 1 / (this.count - window));
      if (gain > most) [best, most] = [window, gain];
    }
    return best;
  }

  /** Whether no sweep is nearer to the mean of the other side of a step before the newest `window` sweeps. */
  isApart(window: number): boolean {
    const change = this.meanOfNewest(window);
    const middle = this.meanBefore(window) + change / 2;
    for (let back = this.count; back > 0; back -= 1)
      if (this.valueAt(back) - middle > 0 !== (back > window ? change < 0 : change > 0)) return false;
    return true;
  }

  /** Residuals, each from the mean of the sweeps before it, and the scale of their variance, around a step. */
  *residuals(window: number): Generator<[number, number]> {
    let mean = 0;
    let count = 0;
    for (let back = this.count; back > 0; back -= 1) {
      if (back === window) count = 0;
      const residual = this.valueAt(back) - mean;
      if (count > 0) yield [residual, 1 + 1 / count];
      count += 1;
      mean = count === 1 ? this.valueAt(back) : mean + residual / count;
    }
  }

  /** Differences of neighboring sweeps beyond a slope, and the scale of their variance. */
  *steps(slope: number): Generator<[number, number]> {
    for (let back = this.count - 1; back > 0; back -= 1)
      yield [this.valueAt(back) - this.valueAt(back + 1) - slope * (this.placeAt(back) - this.placeAt(back + 1)), 2];
  }

  /** Slope of the line, residual sum of squares, and sum of squares of the indices. */
  line(): { slope: number; rest: number; places: number } {
    const n = this.count;
    const places = this.#sumTT - (this.#sumT * this.#sumT) / n;
    const both = this.#sumTY - (this.#sumT * this.#sumY) / n;
    const values = this.#sumYY - (this.#sumY * this.#sumY) / n;
    return { slope: both / places, rest: Math.max(0, values - (both * both) / places), places };
  }
}

type KnownLevel = { log: number; visits: number; reports: number; longest: number };

export class KnownLevels {
  readonly #levels: KnownLevel[] = [];
  readonly #noise: CellNoise;
  /** Number of reports after which a level or excursions are known. */
  readonly #allowed: number;
  /** Number of distant sweeps that returned, and the largest change among them, by direction. */
  readonly #down = { count: 0, least: Infinity, largest: 0 };
  readonly #up = { count: 0, least: Infinity, largest: 0 };

  constructor(noise: CellNoise, allowed: number) {
    this.#noise = noise;
    this.#allowed = allowed;
  }

  get #tolerance(): number {
    return 3 * this.#noise.sd + 0.003;
  }

  #near(log: number): KnownLevel | undefined {
    const tolerance = this.#tolerance;
    return this.#levels.find((level) => Math.abs(level.log - log) <= tolerance);
  }

  #nearOrNew(log: number): KnownLevel {
    const known = this.#near(log);
    if (known !== undefined) return known;
    const level = { log, visits: 0, reports: 0, longest: 0 };
    this.#levels.push(level);
    return level;
  }

  report(log: number): void {
    this.#nearOrNew(log).reports += 1;
  }

  /** Records the end of a visit of this many sweeps. */
  leave(log: number, sweeps: number, off = 0): void {
    const level = this.#nearOrNew(log);
    level.visits += 1;
    level.longest = Math.max(level.longest, sweeps);
    const side = off > 0 ? this.#up : this.#down;
    if (off === 0 || sweeps >= RULES.lastingSweeps) return;
    side.count += 1;
    side.least = Math.min(side.least, Math.abs(off));
    side.largest = Math.max(side.largest, Math.abs(off));
  }

  /** Number of consecutive sweeps that the cell must be at this level before it is reported. */
  sweepsToReport(log: number, off = 0): number {
    const level = this.#near(log);
    if (level !== undefined && level.reports >= this.#allowed) return Math.max(RULES.knownRun, 2 * level.longest + 1);
    const { count, least, largest } = off > 0 ? this.#up : this.#down;
    const isUsual =
      off !== 0 &&
      count >= this.#allowed &&
      Math.abs(off) < RULES.knownSize * largest &&
      Math.abs(off) * RULES.knownSize > least;
    return isUsual ? RULES.knownRun : 1;
  }

  hasLasted(log: number): boolean {
    return (this.#near(log)?.longest ?? 0) >= RULES.lastingSweeps;
  }

  /** The known level other than the one at `log`. */
  second(log: number): number | null {
    const tolerance = this.#tolerance;
    const isOther = (level: KnownLevel): boolean =>
      level.reports >= this.#allowed && level.visits > 1 && Math.abs(level.log - log) > tolerance;
    return this.#levels.find(isOther)?.log ?? null;
  }
}
