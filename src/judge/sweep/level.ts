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

  /** Mean difference of the newest `sweeps` from the mean before them, none counted by more than the limit. */
  meanOfNewest(sweeps: number, limit: number): number {
    const old = this.meanBefore(sweeps);
    let sum = 0;
    for (let back = 1; back <= sweeps; back += 1) {
      sum += Math.max(-limit, Math.min(limit, this.valueAt(back) - old));
    }
    return sum / sweeps;
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

interface KnownLevel {
  log: number;
  visits: number;
  /** How often it was reported that the cell went there. */
  reports: number;
  /** Sweeps of its longest visit. */
  longest: number;
}

/** The levels that a cell was at: one reported twice is known, and reported again only when a visit lasts longer than any before. */
export class KnownLevels {
  readonly #levels: KnownLevel[] = [];
  /** Tells that a level or excursions have before they are known. */
  readonly #allowed: number;
  /** Far sweeps that came back, and the largest change of them, downward and upward. */
  readonly #largest = [0, 0];
  readonly #counts = [0, 0];

  constructor(allowed: number) {
    this.#allowed = allowed;
  }

  get excursions(): number {
    return (this.#counts[0] ?? 0) + (this.#counts[1] ?? 0);
  }

  /** The cell was off by so much and came back. */
  addExcursion(off: number): void {
    const side = off > 0 ? 1 : 0;
    this.#counts[side] = (this.#counts[side] ?? 0) + 1;
    this.#largest[side] = Math.max(this.#largest[side] ?? 0, Math.abs(off));
  }

  #near(log: number, tolerance: number): KnownLevel | undefined {
    return this.#levels.find((level) => Math.abs(level.log - log) <= tolerance);
  }

  /** Remembers that the cell went to a level, or ends a visit of this many sweeps. */
  visit(log: number, tolerance: number, visit: { readonly reported: boolean; readonly sweeps: number }): void {
    let level = this.#near(log, tolerance);
    if (level === undefined) this.#levels.push((level = { log, visits: 0, reports: 0, longest: 0 }));
    if (visit.reported) level.reports += 1;
    if (visit.sweeps > 0) {
      level.visits += 1;
      level.longest = Math.max(level.longest, visit.sweeps);
      level.log += (log - level.log) / level.visits;
    }
  }

  /** Sweeps running that the cell has to be at this level, off its own by so much, before it is reported. */
  sweepsToReport(log: number, tolerance: number, off = 0): number {
    const side = off > 0 ? 1 : 0;
    const isRestless = off !== 0 && (this.#counts[side] ?? 0) >= this.#allowed;
    const isUsual = isRestless && Math.abs(off) < RULES.knownSize * (this.#largest[side] ?? 0);
    const level = this.#near(log, tolerance);
    const isKnown = level !== undefined && level.reports >= this.#allowed;
    return isKnown ? Math.max(RULES.knownRun, 2 * level.longest + 1) : isUsual ? RULES.knownRun : 1;
  }

  /** Whether the cell was at this level for long enough to come back to it. */
  hasLasted(log: number, tolerance: number): boolean {
    return (this.#near(log, tolerance)?.longest ?? 0) >= RULES.lastingSweeps;
  }

  /** The level reported twice that is not the one at `log`. */
  second(log: number, tolerance: number): number | null {
    return (
      this.#levels.find(
        (level) => level.reports >= this.#allowed && level.visits > 1 && Math.abs(level.log - log) > tolerance,
      )?.log ?? null
    );
  }
}
