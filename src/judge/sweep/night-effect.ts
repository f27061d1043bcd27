import { at } from '../../statistics/at.ts';
import { RULES } from './settings.ts';

/** What the cells have in common in each sweep: a normal effect of a sd that is learned, or a shift. */
export class NightEffect {
  #squares = RULES.nightSd ** 2 * RULES.nightWeight;
  #sweeps = RULES.nightWeight;
  /** The levels lie in the night of their first sweep: its effect is the mean of those since, against it. */
  #sum = 0;
  #summed = 0;
  #raw = Number.NaN;
  /** The part of `effect` that is this night's. */
  own = 0;
  readonly #sorted: Float64Array;
  /** Common effect of this sweep to be taken off, its variance, and the shift of all cells, 0 where there is none. */
  effect = 0;
  variance = 0;
  shift = 0;

  constructor(cells: number) {
    this.#sorted = new Float64Array(2 * cells);
  }

  get sd(): number {
    return Math.sqrt(this.#squares / this.#sweeps);
  }

  /**
   * @param differences from the levels, by cell; NaN where a cell has none
   * @param variances of the differences by the cells' own noise
   */
  estimate(differences: Float64Array, variances: Float64Array): this {
    const night = this.sd;
    const { mean: raw, weight, cells } = this.#robustMean(differences, variances, night);
    const center = this.#sum / (this.#summed + 1);
    const mean = raw - center;
    const variance = weight === 0 ? 0 : 1 / weight;
    this.variance = 1 / (weight + 1 / night ** 2);
    this.shift = 0;
    this.effect = 0;
    this.own = 0;
    this.#raw = Number.NaN;
    // Of a few cells nobody can say whether they moved or the night did.
    if (cells < RULES.groupCells) {
      this.variance = night ** 2;
      return this;
    }
    const limit = Math.max(
      RULES.shiftLeast,
      RULES.shiftSd * Math.sqrt(night ** 2 * (1 + 1 / (this.#summed + 1)) + variance),
    );
    if (Math.abs(mean) > limit && shareMoved(differences, center, mean) >= RULES.shiftShare) {
      this.shift = mean;
      this.effect = center;
      return this;
    }
    this.own = Math.max(-4 * night, Math.min(4 * night, (mean * night ** 2) / (night ** 2 + variance)));
    this.effect = center + this.own;
    this.#raw = raw;
    return this;
  }

  /** Learns the sd of nights from this sweep; after a shift the levels lie in its night. */
  learn(): void {
    const night = this.sd;
    const mean = this.#raw - this.#sum / (this.#summed + 1);
    if (this.shift !== 0) this.#sum = this.#summed = 0;
    else if (!Number.isNaN(this.#raw)) {
      this.#sum += this.#raw;
      this.#summed += 1;
      this.#squares += Math.min(mean * mean, 9 * night ** 2);
      this.#sweeps += 1;
    }
  }

  /** Weighted mean of the cells within 3 sd of it, from the median on: quiet cells count twice in the median. */
  #robustMean(differences: Float64Array, variances: Float64Array, night: number) {
    let cells = 0;
    let filled = 0;
    for (const [i, difference] of differences.entries()) {
      if (Number.isNaN(difference)) continue;
      cells += 1;
      this.#sorted[filled++] = difference;
      if (at(variances, i) < (4 * RULES.nightSd) ** 2) this.#sorted[filled++] = difference;
    }
    if (cells === 0) return { mean: 0, weight: 0, cells };
    const sorted = this.#sorted.subarray(0, filled);
    sorted.sort();
    let mean = (at(sorted, filled >> 1) + at(sorted, (filled - 1) >> 1)) / 2;
    let weight = 0;
    for (let round = 0; round < 4; round += 1) {
      let sum = 0;
      weight = 0;
      for (let i = 0; i < differences.length; i += 1) {
        const difference = at(differences, i);
        const variance = at(variances, i);
        if (!(Math.abs(difference - mean) < 3 * Math.sqrt(variance + night ** 2 / 4))) continue;
        const w = 1 / (variance + RULES.cellSd ** 2);
        sum += w * difference;
        weight += w;
      }
      if (weight === 0) break;
      mean = sum / weight;
    }
    return { mean, weight, cells };
  }
}

/** Share of the cells that have at least half of a shift. */
function shareMoved(differences: Float64Array, center: number, shift: number): number {
  const known = differences.filter((difference) => !Number.isNaN(difference));
  return known.filter((difference) => (difference - center) / shift > 0.5).length / known.length;
}

/** Groups of cells that moved together in this sweep: those that share a word. */
export class GroupShifts {
  /** Places of their cells. */
  readonly #groups: readonly (readonly number[])[];

  constructor(words: readonly Iterable<string>[]) {
    const groups = new Map<string, number[]>();
    for (const [cell, own] of words.entries()) {
      for (const word of own) groups.set(word, [...(groups.get(word) ?? []), cell]);
    }
    this.#groups = [...groups.values()];
  }

  /** @returns mean difference of the groups that moved, by cell */
  moved(night: NightEffect, differences: Float64Array, variances: Float64Array): ReadonlyMap<number, number> {
    const found = new Map<number, number>();
    for (const cells of this.#groups) {
      let sum = 0;
      let present = 0;
      let agreeing = 0;
      let weights = 0;
      let change = 0;
      for (const cell of cells) {
        const difference = at(differences, cell) - night.effect;
        if (Number.isNaN(difference)) continue;
        const z = difference / Math.sqrt(at(variances, cell) + night.variance);
        present += 1;
        sum += Math.max(-3.5, Math.min(3.5, z));
        agreeing += Math.abs(z) > 1 ? Math.sign(z) : 0;
        const weight = 1 / (at(variances, cell) + RULES.cellSd ** 2);
        weights += weight;
        change += weight * difference;
      }
      if (present < RULES.groupCells || Math.abs(sum) <= RULES.groupZ * Math.sqrt(present)) continue;
      if (agreeing * Math.sign(sum) < RULES.groupShare * present) continue;
      change /= weights;
      // No direction that the runs themselves do not have: the other cells may be the ones that moved.
      if ((change + night.own) * change < 0.5 * change * change) continue;
      for (const cell of cells) found.set(cell, change);
    }
    return found;
  }
}
