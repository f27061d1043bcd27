import { at, middleOf } from '../../statistics/order-statistics.ts';
import { RULES } from './settings.ts';

/** The common effect of each sweep on the cells: a normal effect with a learned sd, or a shift. */
export class SweepEffect {
  #squares = RULES.sweepSd ** 2 * RULES.sweepWeight;
  #sweeps = RULES.sweepWeight;
  /** Sum of the raw effects since the levels began. */
  #sum = 0;
  #summed = 0;
  #raw = Number.NaN;
  /** Common effect to subtract; `own` is the part of this sweep alone. */
  effect = 0;
  own = 0;
  variance = 0;
  shift = 0;

  get sd(): number {
    return Math.sqrt(this.#squares / this.#sweeps);
  }

  estimate(differences: Float64Array, variances: Float64Array): void {
    const square = this.sd ** 2;
    const known = differences.filter((difference) => !Number.isNaN(difference));
    this.shift = this.effect = this.own = 0;
    this.#raw = Number.NaN;
    this.variance = square;
    // With few cells it is unknown whether they moved or the sweep had an effect.
    if (known.length < RULES.groupCells) return;
    // Weighted mean of the cells within 3 sd of the median.
    const middle = middleOf(known);
    let [sum, weight] = [0, 0];
    for (const [cell, difference] of differences.entries()) {
      const own = at(variances, cell);
      if (!(Math.abs(difference - middle) < 3 * Math.sqrt(own + square / 4))) continue;
      const w = 1 / (own + RULES.cellSd ** 2);
      sum += w * difference;
      weight += w;
    }
    const raw = weight === 0 ? middle : sum / weight;
    const center = this.#sum / (this.#summed + 1);
    const mean = raw - center;
    const variance = weight === 0 ? 0 : 1 / weight;
    this.variance = 1 / (weight + 1 / square);
    const limit = RULES.shiftSd * Math.sqrt(square * (1 + 1 / (this.#summed + 1)) + variance);
    this.effect = center;
    // Cells with at least half of the shift.
    const moved = known.filter((difference) => (difference - center) / mean > 0.5).length;
    const isBeyond = Math.abs(mean) > limit;
    if (isBeyond && moved >= RULES.shiftShare * known.length) this.shift = mean;
    // A change of fewer cells, or of half with none near the middle, tells nothing of the sweep.
    if (isBeyond || weight === 0) return;
    this.#raw = raw;
    const most = 4 * this.sd;
    this.own = Math.max(-most, Math.min(most, (mean * square) / (square + variance)));
    this.effect = center + this.own;
  }

  /** Learns the sd of the effect from this sweep. After a shift, the levels refer to this sweep. */
  learn(): void {
    const mean = this.#raw - this.#sum / (this.#summed + 1);
    if (this.shift !== 0) this.#sum = this.#summed = 0;
    else if (!Number.isNaN(mean)) {
      this.#sum += this.#raw;
      this.#summed += 1;
      this.#squares += mean * mean;
      this.#sweeps += 1;
    }
  }

  /** Cells of the groups that moved, with the size of the move. */
  movedGroups(groups: Iterable<readonly number[]>, differences: Float64Array, variances: Float64Array) {
    const { effect, own, variance: ofSweep } = this;
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
      // The uncorrected runs must show the same direction; otherwise the other cells may have moved.
      if ((change + own) * change < 0.5 * change * change) continue;
      for (const cell of cells) found.set(cell, change);
    }
    return found;
  }
}

/** Log ratio, its standard error, and half of its 95 % interval. */
export type Change = { readonly log: number; readonly error: number; readonly reach: number };

export type Reported = { readonly direction: 'slower' | 'faster'; readonly first: number; readonly change: Change };
