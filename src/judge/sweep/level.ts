import type { CellNoise } from './cell-noise.ts';
import { RULES } from './settings.ts';

export class Level {
  readonly #places: number[] = [];
  readonly #values: number[] = [];
  /** Mean of the sweeps before each index. */
  readonly #means = [0];

  get first(): number {
    return this.placeAt(this.count);
  }

  get count(): number {
    return this.#values.length;
  }

  get mean(): number {
    return this.meanBefore(0);
  }

  meanOfFirst(sweeps: number = RULES.referenceSweeps): number {
    return this.#means[Math.min(sweeps, this.count)] ?? 0;
  }

  add(place: number, value: number): Level {
    const { mean } = this;
    this.#places.push(place);
    this.#values.push(value);
    this.#means.push(mean + (value - mean) / this.count);
    return this;
  }

  /** Takes the newest sweeps back, which belong to another level. */
  drop(sweeps: number): void {
    for (const list of [this.#places, this.#values, this.#means]) list.length -= sweeps;
  }

  newest(sweeps: number): Level {
    const level = new Level();
    for (let back = sweeps; back > 0; back -= 1) level.add(this.placeAt(back), this.valueAt(back));
    return level;
  }

  valueAt(back: number): number {
    return this.#values[this.count - back] ?? Number.NaN;
  }

  placeAt(back: number): number {
    return this.#places[this.count - back] ?? Number.NaN;
  }

  meanBefore(sweeps: number): number {
    return this.#means[this.count - sweeps] ?? Number.NaN;
  }

  /** The newest 2 to `longestWindow` sweeps that are likeliest a level of their own, and its change from the mean before. */
  likeliestStep() {
    let best = { window: 2, change: 0, gain: 0 };
    let sum = this.valueAt(1);
    for (let window = 2; window < this.count && window <= RULES.longestWindow; window += 1) {
      sum += this.valueAt(window);
      const change = sum / window - this.meanBefore(window);
      // Sum of squares that a step before these sweeps explains.
      const gain = change ** 2 / (1 / window + 1 / (this.count - window));
      if (gain > best.gain) best = { window, change, gain };
    }
    return best;
  }

  /** Whether no sweep is nearer to the mean of the other side of a step before the newest `window` sweeps. */
  isApart({ change, window }: ReturnType<Level['likeliestStep']>): boolean {
    const middle = this.meanBefore(window) + change / 2;
    return this.#values.every(
      (value, index) => value > middle === (index < this.count - window ? change < 0 : change > 0),
    );
  }

  /** Residuals without the newest sweeps, each from the mean of those before it, and the scale of their variance. */
  *residuals(newest = 0): Generator<[number, number]> {
    for (let back = this.count - 1; back > newest; back -= 1)
      yield [this.valueAt(back) - this.meanBefore(back), 1 + 1 / (this.count - back)];
  }

  /** Differences of neighboring sweeps beyond a slope, and the scale of their variance. */
  *steps(slope: number): Generator<[number, number]> {
    for (let back = this.count - 1; back > 0; back -= 1)
      yield [this.valueAt(back) - this.valueAt(back + 1) - slope * (this.placeAt(back) - this.placeAt(back + 1)), 2];
  }

  /** Slope of the line, residual sum of squares, and sum of squares of the indices. */
  line() {
    let [middle, places, both, values] = [0, 0, 0, 0];
    for (let back = this.count; back > 0; back -= 1) middle += this.placeAt(back) / this.count;
    for (let back = this.count; back > 0; back -= 1) {
      const [t, y] = [this.placeAt(back) - middle, this.valueAt(back) - this.mean];
      places += t * t;
      both += t * y;
      values += y * y;
    }
    return { slope: both / places, rest: Math.max(0, values - (both * both) / places), places };
  }
}

type KnownLevel = { log: number; reports: number; longest: number };

/** @param allowed number of reports after which a level or excursions are known */
export function knownLevels(cell: { readonly noise: CellNoise }, allowed: number) {
  const levels: KnownLevel[] = [];
  /** Changes of distant sweeps that returned. */
  const excursions: number[] = [];
  const isNear = (level: KnownLevel, log: number): boolean => Math.abs(level.log - log) <= 3 * cell.noise.sd + 0.003;
  const near = (log: number): KnownLevel | undefined => levels.find((level) => isNear(level, log));
  const nearOrNew = (log: number): KnownLevel => {
    const level = near(log) ?? { log, reports: 0, longest: 0 };
    if (!levels.includes(level)) levels.push(level);
    return level;
  };
  return {
    report(log: number): void {
      nearOrNew(log).reports += 1;
    },
    /** Records the end of a visit of this many sweeps. */
    leave(log: number, sweeps: number, off = 0): void {
      const level = nearOrNew(log);
      level.longest = Math.max(level.longest, sweeps);
      if (off !== 0 && sweeps < RULES.lastingSweeps) excursions.push(off);
    },
    /** Number of consecutive sweeps that the cell must be at this level before it is reported. */
    sweepsToReport(log: number, off = 0): number {
      const level = near(log);
      if (level !== undefined && level.reports >= allowed) return Math.max(RULES.lastingSweeps, 2 * level.longest + 1);
      const sizes = excursions.filter((one) => one * off > 0).map(Math.abs);
      const size = Math.abs(off);
      const isUsual = size < RULES.knownSize * Math.max(...sizes) && size * RULES.knownSize > Math.min(...sizes);
      return sizes.length >= allowed && isUsual ? RULES.lastingSweeps : 1;
    },
    hasLasted: (log: number): boolean => (near(log)?.longest ?? 0) >= RULES.lastingSweeps,
    /** The known level other than the one at `log`. */
    second: (log: number): number | null =>
      levels.find((level) => level.reports >= allowed && !isNear(level, log))?.log ?? null,
  };
}
