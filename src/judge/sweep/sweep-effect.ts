import { at, middleOf } from '../../statistics/order-statistics.ts';
import { RULES } from './settings.ts';

/** What the cells have in common in each sweep: a normal effect of a sd that is learned, or a shift. */
export class SweepEffect {
  #squares = RULES.sweepSd ** 2 * RULES.sweepWeight;
  #sweeps = RULES.sweepWeight;
  /** The levels contain the common effect of their first sweep: that is the mean of the effects since, against it. */
  #sum = 0;
  #summed = 0;
  #raw = Number.NaN;
  /** Common effect of this sweep to be taken off, the part that belongs to this sweep alone, its variance, and the shift of all cells, 0 where there is none. */
  effect = 0;
  own = 0;
  variance = 0;
  shift = 0;

  get sd(): number {
    return Math.sqrt(this.#squares / this.#sweeps);
  }

  /**
   * @param differences from the levels, by cell; NaN where a cell has none
   * @param variances of the differences by the cells' own noise
   */
  estimate(differences: Float64Array, variances: Float64Array): void {
    const square = this.sd ** 2;
    const known = differences.filter((difference) => !Number.isNaN(difference));
    this.shift = this.effect = this.own = 0;
    this.#raw = Number.NaN;
    this.variance = square;
    // Of a few cells nobody can say whether they moved or the sweep did.
    if (known.length < RULES.groupCells) return;
    // Quiet cells count twice in the median.
    const isQuiet = (_: number, i: number): boolean => at(variances, i) < (4 * RULES.sweepSd) ** 2;
    const quiet = differences.filter(isQuiet).filter((difference) => !Number.isNaN(difference));
    const { mean: raw, weight } = robustMean(
      middleOf(Float64Array.from([...known, ...quiet])),
      differences,
      variances,
      square / 4,
    );
    const center = this.#sum / (this.#summed + 1);
    const mean = raw - center;
    const variance = weight === 0 ? 0 : 1 / weight;
    this.variance = 1 / (weight + 1 / square);
    const limit = RULES.shiftSd * Math.sqrt(square * (1 + 1 / (this.#summed + 1)) + variance);
    // At least half of the shift is there.
    const moved = known.filter((difference) => (difference - center) / mean > 0.5).length;
    if (Math.abs(mean) > Math.max(RULES.shiftLeast, limit) && moved >= RULES.shiftShare * known.length) {
      this.shift = mean;
      this.effect = center;
      return;
    }
    this.#raw = raw;
    const most = 4 * this.sd;
    this.own = Math.max(-most, Math.min(most, (mean * square) / (square + variance)));
    this.effect = center + this.own;
  }

  /** Learns the sd of common effects from this sweep; after a shift the levels contain its effect. */
  learn(): void {
    const square = this.sd ** 2;
    const mean = this.#raw - this.#sum / (this.#summed + 1);
    if (this.shift !== 0) this.#sum = this.#summed = 0;
    else if (!Number.isNaN(mean)) {
      this.#sum += this.#raw;
      this.#summed += 1;
      this.#squares += Math.min(mean * mean, 9 * square);
      this.#sweeps += 1;
    }
  }
}

/** Weighted mean of the cells within 3 sd of it, from the median on. */
function robustMean(middle: number, differences: Float64Array, variances: Float64Array, apart: number) {
  let mean = middle;
  let weight = 0;
  for (let round = 0; round < 4; round += 1) {
    let sum = 0;
    weight = 0;
    for (let i = 0; i < differences.length; i += 1) {
      const difference = at(differences, i);
      const variance = at(variances, i);
      if (!(Math.abs(difference - mean) < 3 * Math.sqrt(variance + apart))) continue;
      const w = 1 / (variance + RULES.cellSd ** 2);
      sum += w * difference;
      weight += w;
    }
    if (weight === 0) break;
    mean = sum / weight;
  }
  return { mean, weight };
}

/**
 * Groups of cells that moved together in this sweep: those that share a word.
 * @param groups places of their cells
 * @returns mean difference of the groups that moved, by cell
 */
export function movedGroups(
  groups: Iterable<readonly number[]>,
  { effect, own, variance: ofSweep }: SweepEffect,
  differences: Float64Array,
  variances: Float64Array,
): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  for (const cells of groups) {
    let [present, sum, agreeing, weights, change] = [0, 0, 0, 0, 0];
    for (const cell of cells) {
      const difference = at(differences, cell) - effect;
      if (Number.isNaN(difference)) continue;
      const z = difference / Math.sqrt(at(variances, cell) + ofSweep);
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
    if ((change + own) * change < 0.5 * change * change) continue;
    for (const cell of cells) found.set(cell, change);
  }
  return found;
}

/** Log ratio, its standard error, and half of its interval of 95 %. */
export interface Change {
  readonly log: number;
  readonly error: number;
  readonly reach: number;
}

/** What is reported of a cell for the first time. */
export interface Reported {
  readonly direction: 'slower' | 'faster';
  readonly first: number;
  readonly change: Change;
}

/** Logs of times: above 0 is slower. */
export interface CellJudgement {
  readonly verdict: 'slower' | 'faster' | 'same' | 'unclear';
  /** What was last accepted, and the number of sweeps that it is the mean of. */
  readonly reference: { readonly log: number; readonly sweeps: number };
  /** Place of the first sweep off the reference; of this one where nothing was reported since. */
  readonly since: number;
  /** To the reference: of the recent level where it is another one, else of the newest sweep. */
  readonly change: Change;
  readonly reported: Reported | null;
  /** Log ratio of the smallest change that the newest sweep's runs would report nine times in ten. */
  readonly detectable: number;
  /** Two levels that the cell goes to and fro between, the lower one first. */
  readonly levels: readonly [number, number] | null;
  /** Far off in the only run of this sweep: one run further off is no level yet. */
  readonly isOnlyRunFarOff: boolean;
}

/** What people and pairs said of a cell before this sweep is judged, or of this sweep. */
export interface Control {
  /** The level until now becomes the reference: it was acknowledged, or is that of the merge base. */
  readonly accept?: boolean;
  /** This sweep is judged and part of no level: the machine was slow, or pairs showed no change. */
  readonly exclude?: boolean;
  /** Runs of a baseline: their level is the reference of this sweep. */
  readonly reference?: readonly number[];
}

/** One sweep of one cell, as far as all cells of the matrix know it. */
export interface CellSweep {
  readonly place: number;
  /** Log of its center, the common effect taken off. */
  readonly log: number;
  /** Runs in it, and the variance that it has above a sweep of all repeats. */
  readonly runs: number;
  readonly extra: number;
  readonly common: SweepEffect;
  /** Tail probabilities in this matrix over those of the settings. */
  readonly share: number;
  /** The cell moved together with others, by about so much; null where it did not. */
  readonly moved: number | null;
}
