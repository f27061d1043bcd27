import { at } from '../../statistics/order-statistics.ts';
import { erfc } from '../../statistics/special-functions.ts';
import { RULES } from './settings.ts';

/** Ratios of the sd between sweeps to the sd that the runs leave in the mean of a sweep, with their prior weights. */
const RATIOS = Float64Array.of(0.3, 0.6, 0.9, 1.2, 1.5, 2.2, 3.5, 6, 10, 40);
const SHARE_WEIGHTS = Float64Array.of(1, 1, 1, 1, 1, 0.1, 0.03, 0.006, 0.002, 0.0005);
const SHARES = RATIOS.map((ratio) => 1 + ratio * ratio);
const SHARE_LOGS = SHARES.map(Math.log);
/** Sd, on the log scale, that a timer leaves in runs that print the same number. */
const TIMER_SD = 5e-5;
/** Log of the prior share of cells with normal tails, and with heavy ones. */
const TAIL_LOGS = Float64Array.of(Math.log(1 - RULES.heavyShare), Math.log(RULES.heavyShare));

/** Number of sds in the grid; each is a third larger than the previous one. */
const STEPS = 24;

export class NoisePrior {
  readonly typicalSd: number;
  readonly sdLogs = new Float64Array(STEPS);
  readonly squares = new Float64Array(STEPS);
  readonly squareLogs = new Float64Array(STEPS);
  readonly logs = new Float64Array(STEPS);
  readonly #flat: Float64Array;
  readonly #flatSum: number;

  constructor(typicalSd: number) {
    this.typicalSd = typicalSd;
    for (let i = 0; i < STEPS; i += 1) {
      const ratio = Math.exp(Math.log(1 / 8) + (Math.log(800) * i) / (STEPS - 1));
      this.sdLogs[i] = Math.log(typicalSd * ratio);
      this.squares[i] = (typicalSd * ratio) ** 2;
      this.squareLogs[i] = Math.log(at(this.squares, i));
      this.logs[i] = ratio > 1 / 6 && ratio < 6.5 ? 0 : -1.5;
    }
    this.#flat = this.logs.map(Math.exp);
    this.#flatSum = this.#flat.reduce((sum, weight) => sum + weight, 0);
  }

  /** Empirical Bayes: the sum of the posteriors of all cells and of a flat prior with the weight of `flatCells`. */
  learn(cells: readonly CellNoise[]): void {
    for (let i = 0; i < STEPS; i += 1) {
      let sum = (RULES.flatCells * at(this.#flat, i)) / this.#flatSum;
      for (const cell of cells) sum += cell.weightOf(i);
      this.logs[i] = Math.log(sum);
    }
  }
}

/** Posterior of the noise of one cell on a grid: the sd of one sweep, and whether its tails are heavy. */
export class CellNoise {
  readonly #prior: NoisePrior;
  /** Normal tails at 2i, heavy tails at 2i + 1. */
  readonly #logLikelihood = new Float64Array(2 * STEPS);
  readonly #weights = new Float64Array(2 * STEPS);
  /** Sum of squares within sweeps, and their degrees of freedom. */
  squares = 0;
  degrees = 0;
  #repeats = 1;
  readonly #within = new Float64Array(STEPS);
  #judgedDegrees = 0;
  #stale = 0;
  #learned = 0;
  sd = 0;

  constructor(prior: NoisePrior) {
    this.#prior = prior;
  }

  weightOf(step: number): number {
    return this.#learned === 0 ? 0 : at(this.#weights, 2 * step) + at(this.#weights, 2 * step + 1);
  }

  get runSd(): number {
    return Math.sqrt((this.squares + 3 * (1.6 * this.#prior.typicalSd) ** 2) / (this.degrees + 3));
  }

  addRuns(runs: readonly number[], centre: number): void {
    this.#repeats = Math.max(this.#repeats, runs.length);
    if (runs.length < 2) return;
    for (const run of runs) this.squares += (run - centre) ** 2;
    this.degrees += runs.length - 1;
  }

  /** Variance that the mean of this many runs has in addition to that of all repeats. */
  extraOf(runs: number): number {
    return runs >= this.#repeats ? 0 : this.runSd ** 2 * (1 / runs - 1 / this.#repeats);
  }

  learn(residual: number, scale: number, extra: number): void {
    this.#learned += 1;
    this.#stale += 1;
    const { squares } = this.#prior;
    const logs = this.#logLikelihood;
    for (let i = 0; i < STEPS; i += 1) {
      const variance = scale * at(squares, i) + extra;
      const x = residual ** 2 / variance;
      const normal = -0.5 * (Math.log(variance) + x);
      logs[2 * i] = at(logs, 2 * i) + normal;
      logs[2 * i + 1] = at(logs, 2 * i + 1) + normal + heavyLogRatio(x);
    }
  }

  /** Recomputes the posterior once a quarter of its data is new, or immediately if `now`. */
  refresh(now = false): void {
    if (this.sd !== 0 && (this.#stale === 0 || (!now && this.#stale * 4 < this.#learned))) return;
    this.#stale = 0;
    this.#judgeRuns();
    const weights = this.#weights;
    const { logs, sdLogs } = this.#prior;
    let top = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < 2 * STEPS; i += 1) {
      const ofSd = at(logs, i >> 1) + at(this.#within, i >> 1);
      weights[i] = at(this.#logLikelihood, i) + at(TAIL_LOGS, i & 1) + ofSd;
      top = Math.max(top, at(weights, i));
    }
    let sum = 0;
    let mean = 0;
    for (let i = 0; i < 2 * STEPS; i += 1) {
      const weight = Math.exp(at(weights, i) - top);
      weights[i] = weight;
      sum += weight;
      mean += weight * at(sdLogs, i >> 1);
    }
    for (let i = 0; i < 2 * STEPS; i += 1) weights[i] = at(weights, i) / sum;
    this.sd = Math.exp(mean / sum);
  }

  /** Updates the log likelihood of the squares within sweeps for each sd of the grid, summed over the ratios. */
  #judgeRuns(): void {
    if (this.degrees === this.#judgedDegrees) return;
    this.#judgedDegrees = this.degrees;
    const observed = (this.squares / this.degrees + TIMER_SD ** 2) / this.#repeats;
    const observedLog = Math.log(observed);
    const half = this.degrees / 2;
    for (let i = 0; i < STEPS; i += 1) {
      const ratio = observed / at(this.#prior.squares, i);
      const log = 1 + observedLog - at(this.#prior.squareLogs, i);
      let sum = 1e-300;
      for (let r = 0; r < SHARES.length; r += 1) {
        const likelihood = half * (log + at(SHARE_LOGS, r) - ratio * at(SHARES, r));
        if (likelihood > -40) sum += at(SHARE_WEIGHTS, r) * Math.exp(likelihood);
      }
      this.#within[i] = Math.log(sum);
    }
  }

  /** Probability that the mean of this many sweeps is at least this far off, with variance scale * sd^2 + extra. */
  tail(residual: number, scale: number, extra: number): number {
    let p = 0;
    for (let i = 0; i < STEPS; i += 1) {
      const normal = at(this.#weights, 2 * i);
      const heavy = at(this.#weights, 2 * i + 1);
      if (normal + heavy < 1e-9) continue;
      const x = Math.abs(residual) / Math.sqrt(scale * at(this.#prior.squares, i) + extra);
      p += normal * normalTail(x) + heavy * heavyTail(x);
    }
    return p;
  }

  /** The distance with this tail probability, by bisection to 2 % of the sd. */
  offOf(p: number, scale: number, extra: number): number {
    let low = 0;
    let high = 40 * this.sd + 5 * Math.sqrt(extra);
    while (high - low > 0.02 * this.sd * Math.min(1, Math.sqrt(scale))) {
      const middle = (low + high) / 2;
      if (this.tail(middle, scale, extra) < p) high = middle;
      else low = middle;
    }
    return high;
  }
}

/** P(|Z| > x) of a normal Z. @see scipy.stats.norm.sf(x) * 2 */
export function normalTail(x: number): number {
  return x < MOST ? lookUp(NORMAL, x) : 1e-60;
}

/** P(|T| > x) of Student's t with 5 degrees of freedom scaled to variance 1. @see scipy.stats.t.sf(x * sqrt(5 / 3), 5) * 2 */
export function heavyTail(x: number): number {
  return x < MOST ? lookUp(HEAVY, x) : at(HEAVY, MOST * STEPS_PER_SD) * (MOST / x) ** 5;
}

function heavyTailOf(x: number): number {
  const angle = Math.atan(x / Math.sqrt(3));
  const cosine = Math.cos(angle);
  return Math.max(1e-12, 1 - (2 / Math.PI) * (angle + Math.sin(angle) * (cosine + (2 / 3) * cosine ** 3)));
}

/** Log density of the same t distribution, less that of the normal, at x squared. */
export function heavyLogRatio(square: number): number {
  return HEAVY_AT_ZERO - 3 * Math.log1p(square / 3) + square / 2;
}

const HEAVY_AT_ZERO = Math.log((8 / (3 * Math.sqrt(3) * Math.PI)) * Math.sqrt(2 * Math.PI));

/** Table entries per unit. Linear interpolation has an error below 0.1 % of the probability up to x = 6. */
const STEPS_PER_SD = 64;
const MOST = 16;
const NORMAL = Float64Array.from({ length: MOST * STEPS_PER_SD + 2 }, (_, i) => erfc(i / STEPS_PER_SD / Math.SQRT2));
const HEAVY = Float64Array.from({ length: MOST * STEPS_PER_SD + 2 }, (_, i) => heavyTailOf(i / STEPS_PER_SD));

function lookUp(table: Float64Array, x: number): number {
  const place = x * STEPS_PER_SD;
  const below = Math.trunc(place);
  const low = at(table, below);
  return low + (place - below) * (at(table, below + 1) - low);
}
