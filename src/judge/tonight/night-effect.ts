import { at } from '../../statistics/at.ts';
import { TONIGHT } from './settings.ts';

/** The sweep's differences from the levels, one place per cell; NaN where a cell has none. */
export interface Differences {
  readonly differences: Float64Array;
  /** Variances of the differences by the cells' own noise. */
  readonly variances: Float64Array;
}

/** What the cells have in common in each sweep: a normal effect of a sd that is learned, or a shift. */
export class NightEffect {
  #squares = TONIGHT.nightSd ** 2 * TONIGHT.nightWeight;
  #sweeps = TONIGHT.nightWeight;
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
    const { mean, weight, cells } = this.#robustMean(differences, variances, night);
    const variance = weight === 0 ? 0 : 1 / weight;
    this.variance = 1 / (weight + 1 / night ** 2);
    this.shift = 0;
    this.effect = 0;
    if (cells === 0) return;
    const limit = Math.max(TONIGHT.shiftLeast, TONIGHT.shiftSd * Math.sqrt(night ** 2 + variance));
    if (cells >= TONIGHT.groupCells && Math.abs(mean) > limit && shareMoved(differences, mean) >= TONIGHT.shiftShare) {
      this.shift = mean;
      return;
    }
    const shrunk = (mean * night ** 2) / (night ** 2 + variance);
    this.effect = Math.max(-4 * night, Math.min(4 * night, shrunk));
    this.#squares += Math.min(mean * mean, 9 * night ** 2);
    this.#sweeps += 1;
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
      if (at(variances, i) < (4 * TONIGHT.nightSd) ** 2) this.#sorted[filled++] = difference;
    }
    if (cells === 0) return { mean: 0, weight: 0, cells };
    const sorted = this.#sorted.subarray(0, filled).sort();
    const middle = (at(sorted, filled >> 1) + at(sorted, (filled - 1) >> 1)) / 2;
    // Where half of the cells moved, the median lies between them and the others: then those that did not move say it.
    const [still, most] = [0, middle].map((start) => meanAround(start, differences, variances, night));
    const { mean, weight } = most !== undefined && most.weight > 1.5 * (still?.weight ?? 0) ? most : (still ?? NONE);
    return { mean, weight, cells };
  }
}

const NONE = { mean: 0, weight: 0 };

/** Weighted mean of the cells within 3 sd of it, from a start on. */
function meanAround(start: number, differences: Float64Array, variances: Float64Array, night: number) {
  let mean = start;
  let weight = 0;
  for (let round = 0; round < 4; round += 1) {
    let sum = 0;
    weight = 0;
    for (let i = 0; i < differences.length; i += 1) {
      const difference = at(differences, i);
      const variance = at(variances, i);
      if (!(Math.abs(difference - mean) < 3 * Math.sqrt(variance + night ** 2 / 4))) continue;
      const w = 1 / (variance + TONIGHT.cellSd ** 2);
      sum += w * difference;
      weight += w;
    }
    if (weight === 0) break;
    mean = sum / weight;
  }
  return { mean, weight };
}

function shareMoved(differences: Float64Array, shift: number): number {
  let cells = 0;
  let moved = 0;
  for (let i = 0; i < differences.length; i += 1) {
    const difference = at(differences, i);
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

  /** @param zs of the cells, NaN where a cell has no difference @returns word and sum of z by cell */
  moved(zs: Float64Array): Map<number, { readonly word: string; readonly sign: number }> {
    const found = new Map<number, { word: string; sign: number }>();
    for (const [word, cells] of this.#groups) {
      let sum = 0;
      let present = 0;
      for (const cell of cells) {
        const z = at(zs, cell);
        if (Number.isNaN(z)) continue;
        present += 1;
        sum += Math.max(-3.5, Math.min(3.5, z));
      }
      if (present < TONIGHT.groupCells || Math.abs(sum) <= TONIGHT.groupZ * Math.sqrt(present)) continue;
      const agreeing = cells.filter((cell) => at(zs, cell) * sum > 0 && Math.abs(at(zs, cell)) > 1).length;
      if (agreeing < TONIGHT.groupShare * present) continue;
      for (const cell of cells) if (!Number.isNaN(at(zs, cell))) found.set(cell, { word, sign: Math.sign(sum) });
    }
    return found;
  }
}
