import { at } from '../../statistics/at.ts';
import { penaltyOf, startsOf } from './change-points.ts';
import type { NoisySeries } from './levels.ts';
import { ALERTING, HISTORY } from './settings.ts';

/** The newest sweeps, whose clipped values the next ones move. */
const OPEN = HISTORY.clipHalf;
const SHORTEST = HISTORY.leastLevel;

/** What rounding may amount to, as a share of the penalty and of all squares: closer decisions are left to `startsOf`. */
const PENALTY_ERROR = 1e-8;
const SQUARES_ERROR = 1e-11;

const RECIPROCALS = Float64Array.from({ length: ALERTING.windowNights + 2 }, (_, count) => 1 / count);

/**
 * `startsOf` of a window that moves sweep by sweep, from what was found before where that is proven to hold.
 *
 * Take the residuals of a reference: no cut, or one at `cut`, and a value on either side. Let every sum of residuals on
 * one side, squared and by its length, be less than half of the penalty. A cut whose neighboring levels lie on one side
 * then gains less than it costs, so that the best cuts are at most two, and two only around `cut`. Two gain no more than
 * `cut` alone and the best cut of either side, and that has to be less than the penalty too. What is left are no cut and
 * one, and all of these are tried.
 */
export class RollingCuts {
  private readonly clipped: Float64Array;
  /** Known reference; its cut by index of the sweep. */
  private reference: { readonly cut: number | null; readonly before: number; readonly after: number } | null = null;
  /** Sweeps until here are settled: of them there are residuals as of then, sums before them, and the most of sums that end before them. */
  private settled = 0;
  private readonly residuals: Float64Array;
  private readonly sums: Float64Array;
  private readonly most: Float64Array;
  /** Sweeps since the reference is known, and how many to wait for the next one. */
  private used = 0;
  private wait = 0;
  private patience = 1;
  private readonly scratch = new Float64Array(ALERTING.windowNights + 1);

  /** @param clipped of all sweeps; those of the window are as of now */
  constructor(clipped: Float64Array) {
    this.clipped = clipped;
    this.residuals = new Float64Array(clipped.length);
    this.sums = new Float64Array(clipped.length + 1);
    this.most = new Float64Array(clipped.length + 1);
  }

  /** @param series of the window `[from, to)` */
  startsIn(series: NoisySeries, from: number, to: number): readonly number[] {
    const found = this.reference === null ? null : this.proven(series, from, to);
    if (found !== null) {
      this.used += 1;
      return found;
    }
    const starts = startsOf(series);
    this.learn(starts, from, to);
    return starts;
  }

  /** A new reference costs as much as `startsOf`: not where the last one did not hold for long. */
  private learn(starts: readonly number[], from: number, to: number): void {
    if (this.reference !== null) {
      this.patience = this.used >= LONG ? 1 : Math.min(2 * this.patience, MOST_PATIENCE);
      this.wait = this.patience;
      this.reference = null;
    }
    this.wait -= 1;
    const [start, ...others] = starts;
    if (this.wait > 0 || others.length > 0) return;
    const cut = start === undefined ? null : from + start;
    const before = meanIn(this.clipped, from, cut ?? to);
    this.reference = { cut, before, after: cut === null ? before : meanIn(this.clipped, cut, to) };
    this.used = 0;
    this.settled = from;
    this.sums[from] = 0;
  }

  private proven(series: NoisySeries, from: number, to: number): number[] | null {
    const { sigma } = series;
    const penalty = penaltyOf(series) * sigma * sigma;
    const least = PENALTY_ERROR * penalty;
    if (2 * this.mostGain(from, to) + least >= penalty) return null;
    const cut = this.reference?.cut ?? null;
    if (cut === null) return [];
    return cut - from < SHORTEST || to - cut < SHORTEST ? null : this.atMostOne(from, cut, to, penalty);
  }

  /** Above every squared sum of `SHORTEST` or more residuals on one side, by its length. */
  private mostGain(from: number, to: number): number {
    const { clipped, most, residuals, sums } = this;
    const settled = to - OPEN;
    for (let sweep = this.settled; sweep < settled; sweep += 1) {
      const residual = this.residualAt(sweep);
      residuals[sweep] = residual;
      sums[sweep + 1] = at(sums, sweep) + residual;
      most[sweep + 1] = this.mostBefore(sweep + 1, from);
    }
    this.settled = settled;
    let gain = 0;
    for (let end = from + 1; end <= settled; end += 1) if (at(most, end) > gain) gain = at(most, end);
    for (let sweep = settled; sweep < to; sweep += 1) {
      sums[sweep + 1] = at(sums, sweep) + this.residualAt(sweep);
      gain = Math.max(gain, this.mostBefore(sweep + 1, from));
    }
    let moved = 0;
    const { cut, before, after } = this.reference ?? NO_REFERENCE;
    const middle = cut === null ? settled : Math.min(Math.max(cut, from), settled);
    for (let sweep = from; sweep < middle; sweep += 1) {
      moved += Math.abs(at(clipped, sweep) - before - at(residuals, sweep));
    }
    for (let sweep = middle; sweep < settled; sweep += 1) {
      moved += Math.abs(at(clipped, sweep) - after - at(residuals, sweep));
    }
    return (Math.sqrt(gain) + moved / Math.sqrt(SHORTEST)) ** 2;
  }

  private residualAt(sweep: number): number {
    const { cut, before, after } = this.reference ?? NO_REFERENCE;
    return at(this.clipped, sweep) - (cut === null || sweep < cut ? before : after);
  }

  private mostBefore(end: number, from: number): number {
    const { sums } = this;
    const cut = this.reference?.cut ?? null;
    const first = cut === null || end <= cut ? from : Math.max(cut, from);
    const sum = at(sums, end);
    let most = 0;
    for (let start = first; start <= end - SHORTEST; start += 1) {
      const apart = sum - at(sums, start);
      const gain = apart * apart * at(RECIPROCALS, end - start);
      if (gain > most) most = gain;
    }
    return most;
  }

  /** The best of no cut and one; null where that is too close, or where two may be better. */
  private atMostOne(from: number, cut: number, to: number, penalty: number): number[] | null {
    const { clipped, scratch } = this;
    const [count, place] = [to - from, cut - from];
    const level = at(clipped, from);
    let squares = 0;
    scratch[0] = 0;
    for (let sweep = 0; sweep < count; sweep += 1) {
      const value = at(clipped, from + sweep) - level;
      squares += value * value;
      scratch[sweep + 1] = at(scratch, sweep) + value;
    }
    const error = PENALTY_ERROR * penalty + SQUARES_ERROR * squares;
    const sides = bestSplit(scratch, 0, place, 1).most + bestSplit(scratch, place, count, 1).most;
    if (sides + error >= penalty) return null;
    const { best, most, second } = bestSplit(scratch, 0, count, SHORTEST);
    if (most - second <= error || Math.abs(most - penalty) <= error) return null;
    return most > penalty ? [best] : [];
  }
}

const NO_REFERENCE = { cut: null, before: 0, after: 0 };

/** Sweeps for which a reference should hold, and to wait for the next one at most. */
const LONG = 8;
const MOST_PATIENCE = 32;

/** How much one cut of `[from, to)` lowers the squares. @param sums before each place; @param shortest of both parts */
function bestSplit(sums: Float64Array, from: number, to: number, shortest: number) {
  const base = at(sums, from);
  const total = at(sums, to) - base;
  let best = from;
  let most = 0;
  let second = 0;
  for (let place = from + shortest; place <= to - shortest; place += 1) {
    const left = at(sums, place) - base;
    const right = total - left;
    const explained = left * left * at(RECIPROCALS, place - from) + right * right * at(RECIPROCALS, to - place);
    if (explained > most) {
      second = most;
      most = explained;
      best = place;
    } else if (explained > second) second = explained;
  }
  const whole = total * total * at(RECIPROCALS, to - from);
  return { best, most: Math.max(0, most - whole), second: Math.max(0, second - whole) };
}

function meanIn(values: Float64Array, from: number, to: number): number {
  let sum = 0;
  for (let place = from; place < to; place += 1) sum += at(values, place);
  return sum / (to - from);
}
