import { at } from '../../statistics/at.ts';
import { RULES } from './settings.ts';

/** Sds of one sweep that are weighed: each a third larger than the one before. */
export const STEPS = 24;

/** What the cells of a matrix share: the grid of sds of one sweep and its prior. */
export class NoisePrior {
  readonly typicalSd: number;
  readonly sds = new Float64Array(STEPS);
  readonly squares = new Float64Array(STEPS);
  readonly squareLogs = new Float64Array(STEPS);
  readonly logs = new Float64Array(STEPS);
  readonly #flat: Float64Array;
  readonly #flatSum: number;

  constructor(typicalSd: number) {
    this.typicalSd = typicalSd;
    for (let i = 0; i < STEPS; i += 1) {
      const ratio = Math.exp(Math.log(1 / 8) + (Math.log(800) * i) / (STEPS - 1));
      this.sds[i] = typicalSd * ratio;
      this.squares[i] = at(this.sds, i) ** 2;
      this.squareLogs[i] = Math.log(at(this.squares, i));
      this.logs[i] = ratio > 1 / 6 && ratio < 6.5 ? 0 : -1.5;
    }
    this.#flat = this.logs.map(Math.exp);
    this.#flatSum = this.#flat.reduce((sum, weight) => sum + weight, 0);
  }

  /** Empirical Bayes: the prior of each cell is what the cells know, and the flat one for this many cells. */
  learn(cells: readonly { weightOf(step: number): number }[]): void {
    for (let i = 0; i < STEPS; i += 1) {
      let sum = (RULES.flatCells * at(this.#flat, i)) / this.#flatSum;
      for (const cell of cells) sum += cell.weightOf(i);
      this.logs[i] = Math.log(sum);
    }
  }
}
