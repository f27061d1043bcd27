import { at } from '../../statistics/at.ts';
import { RULES } from './settings.ts';

/** The sweep's differences from the levels, one place per cell; NaN where a cell has none. */
export interface Differences {
  readonly differences: Float64Array;
  /** Variances of the differences by the cells' own noise. */
  readonly variances: Float64Array;
}

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

  estimate({ differences, variances }: Differences): void {
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
      return;
    }
    const limit = Math.max(
      RULES.shiftLeast,
      RULES.shiftSd * Math.sqrt(night ** 2 * (1 + 1 / (this.#summed + 1)) + variance),
    );
    if (Math.abs(mean) > limit && shareMoved(differences, center, mean) >= RULES.shiftShare) {
      this.shift = mean;
      this.effect = center;
      return;
    }
    const shrunk = (mean * night ** 2) / (night ** 2 + variance);
    this.own = Math.max(-4 * night, Math.min(4 * night, shrunk));
    this.effect = center + this.own;
    this.#raw = raw;
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
    for (let i = 0; i < differences.length; i += 1) {
      const difference = at(differences, i);
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

function shareMoved(differences: Float64Array, center: number, shift: number): number {
  let cells = 0;
  let moved = 0;
  for (let i = 0; i < differences.length; i += 1) {
    const difference = at(differences, i) - center;
    if (Number.isNaN(difference)) continue;
    cells += 1;
    if (difference * shift > 0 && Math.abs(difference) > 0.5 * Math.abs(shift)) moved += 1;
  }
  return moved / cells;
}

/** Groups of cells that moved together in this sweep: places of the cells by word. */
export class GroupShifts {
  readonly #groups: ReadonlyMap<string, readonly number[]>;

  constructor(words: readonly (readonly string[])[]) {
    const groups = new Map<string, number[]>();
    for (const [cell, own] of words.entries()) {
      for (const word of new Set(own)) groups.set(word, [...(groups.get(word) ?? []), cell]);
    }
    this.#groups = groups;
  }

  /** @param zs of the cells, NaN where a cell has no difference @returns word and mean difference by cell */
  moved(
    zs: Float64Array,
    { effect, own }: NightEffect,
    { differences, variances }: Differences,
  ): Map<number, GroupMove> {
    const found = new Map<number, GroupMove>();
    for (const [word, cells] of this.#groups) {
      let sum = 0;
      let present = 0;
      let agreeing = 0;
      let weights = 0;
      let change = 0;
      for (const cell of cells) {
        const z = at(zs, cell);
        if (Number.isNaN(z)) continue;
        present += 1;
        sum += Math.max(-3.5, Math.min(3.5, z));
        agreeing += Math.abs(z) > 1 ? Math.sign(z) : 0;
        const weight = 1 / (at(variances, cell) + RULES.cellSd ** 2);
        weights += weight;
        change += weight * (at(differences, cell) - effect);
      }
      if (present < RULES.groupCells || Math.abs(sum) <= RULES.groupZ * Math.sqrt(present)) continue;
      if (agreeing * Math.sign(sum) < RULES.groupShare * present) continue;
      change /= weights;
      // No direction that the runs themselves do not have: the other cells may be the ones that moved.
      if ((change + own) * change < 0.5 * change * change) continue;
      for (const cell of cells) found.set(cell, { word, change });
    }
    return found;
  }
}

export interface GroupMove {
  readonly word: string;
  readonly change: number;
}
