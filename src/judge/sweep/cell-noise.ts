import { at } from '../../statistics/order-statistics.ts';
import { momentsOf } from '../../statistics/special-functions.ts';
import { RULES } from './settings.ts';

/** Ratios of the sd between sweeps to the sd that the runs leave in the mean of a sweep, with their prior weights. */
const RATIOS = Float64Array.of(0.3, 0.6, 0.9, 1.2, 1.5, 2.2, 3.5, 6, 10, 40);
const SHARE_WEIGHTS = Float64Array.of(1, 1, 1, 1, 1, 0.1, 0.03, 0.006, 0.002, 0.0005);
const SHARES = RATIOS.map((ratio) => 1 + ratio * ratio);
const SHARE_LOGS = SHARES.map(Math.log);
/** Sd, on the log scale, that a timer leaves in runs that print the same number. */
const TIMER_SD = 5e-5;

/** Number of sds in the grid; each is a third larger than the previous one. */
const STEPS = 24;

export type NoisePrior = ReturnType<typeof noisePrior>;

export function noisePrior(typicalSd: number) {
  const ratios = Float64Array.from({ length: STEPS }, (_, i) =>
    Math.exp(Math.log(1 / 8) + (Math.log(800) * i) / (STEPS - 1)),
  );
  const logs = ratios.map((ratio) => (ratio > 1 / 6 && ratio < 6.5 ? 0 : -1.5));
  const weights = logs.map(Math.exp);
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const flat = weights.map((weight) => (RULES.flatCells * weight) / sum);
  return {
    typicalSd,
    sdLogs: ratios.map((ratio) => Math.log(typicalSd * ratio)),
    squares: ratios.map((ratio) => (typicalSd * ratio) ** 2),
    logs,
    /** Empirical Bayes: the sum of the posteriors of all cells and of a flat prior with the weight of `flatCells`. */
    learn(cells: readonly CellNoise[]): void {
      for (const i of logs.keys())
        logs[i] = Math.log(cells.reduce((total, cell) => total + cell.weightOf(i), at(flat, i)));
    },
  };
}

/** Sum of squares within sweeps with its degrees of freedom, most runs of a sweep, all runs, and those far off. */
const NO_RUNS = { squares: 0, degrees: 0, repeats: 1, all: 0, above: 0, below: 0, farSquares: 0 };

/** Posterior of the sd of one sweep of a cell on a grid. Sweeps have the tails of Student's t with 5 degrees of freedom. */
export class CellNoise {
  readonly #prior: NoisePrior;
  readonly #logLikelihood = new Float64Array(STEPS);
  readonly #weights = new Float64Array(STEPS);
  readonly runs: typeof NO_RUNS;
  readonly #within = new Float64Array(STEPS);
  #judgedDegrees = 0;
  #stale = 0;
  #learned = 0;
  sd = 0;

  constructor(prior: NoisePrior, runs: typeof NO_RUNS = { ...NO_RUNS }) {
    this.#prior = prior;
    this.runs = runs;
  }

  /**
   * The runs of a sweep that count: those that agree, or all of a cell whose runs are often far above the others and
   * far below them, which is no accident. What was left out until then is noise, too.
   */
  counted(runs: readonly number[], agreeing: readonly number[]): readonly number[] {
    const known = this.runs;
    known.all += runs.length;
    if (agreeing.length === runs.length) return runs;
    const above = runs.filter((run) => !agreeing.includes(run) && run > (agreeing[0] ?? 0)).length;
    known.above += above;
    known.below += runs.length - agreeing.length - above;
    if (Math.min(known.above, known.below) === 0 || known.above + known.below <= RULES.farShare * known.all) {
      known.farSquares += momentsOf(runs).squares - momentsOf(agreeing).squares;
      return agreeing;
    }
    known.squares += known.farSquares;
    known.farSquares = 0;
    return runs;
  }

  weightOf(step: number): number {
    return this.#learned === 0 ? 0 : at(this.#weights, step);
  }

  get runSd(): number {
    return Math.sqrt((this.runs.squares + 3 * (1.6 * this.#prior.typicalSd) ** 2) / (this.runs.degrees + 3));
  }

  addRuns(runs: readonly number[], centre: number): void {
    this.runs.repeats = Math.max(this.runs.repeats, runs.length);
    if (runs.length < 2) return;
    for (const run of runs) this.runs.squares += (run - centre) ** 2;
    this.runs.degrees += runs.length - 1;
  }

  /** Variance that the mean of this many runs has in addition to that of all repeats. */
  extraOf(runs: number): number {
    return runs >= this.runs.repeats ? 0 : this.runSd ** 2 * (1 / runs - 1 / this.runs.repeats);
  }

  /** The posterior if these residuals, with the scale of their variance, were all that is known between sweeps. */
  given(residuals: Iterable<readonly [number, number]>): CellNoise {
    const noise = new CellNoise(this.#prior, this.runs);
    for (const [residual, scale] of residuals) noise.learn(residual, scale, 0);
    noise.refresh(true);
    return noise;
  }

  learn(residual: number, scale: number, extra: number): void {
    this.#learned += 1;
    this.#stale += 1;
    const { squares } = this.#prior;
    const logs = this.#logLikelihood;
    for (let i = 0; i < STEPS; i += 1) {
      const variance = scale * at(squares, i) + extra;
      logs[i] = at(logs, i) - 0.5 * Math.log(variance) - 3 * Math.log1p(residual ** 2 / variance / 3);
    }
  }

  /** Recomputes the posterior once a quarter of its data is new, or immediately if `now`. */
  refresh(now = false): void {
    const isStale = this.#stale > 0 && (now || this.#stale * 4 >= this.#learned);
    if (this.sd !== 0 && !isStale && !(now && this.runs.degrees !== this.#judgedDegrees)) return;
    this.#stale = 0;
    this.#judgeRuns();
    const weights = this.#weights;
    const { logs, sdLogs } = this.#prior;
    let top = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < STEPS; i += 1) {
      weights[i] = at(this.#logLikelihood, i) + at(logs, i) + at(this.#within, i);
      top = Math.max(top, at(weights, i));
    }
    let sum = 0;
    let mean = 0;
    for (let i = 0; i < STEPS; i += 1) {
      const weight = Math.exp(at(weights, i) - top);
      weights[i] = weight;
      sum += weight;
      mean += weight * at(sdLogs, i);
    }
    for (let i = 0; i < STEPS; i += 1) weights[i] = at(weights, i) / sum;
    this.sd = Math.exp(mean / sum);
  }

  /** Updates the log likelihood of the squares within sweeps for each sd of the grid, summed over the ratios. */
  #judgeRuns(): void {
    if (this.runs.degrees === this.#judgedDegrees) return;
    this.#judgedDegrees = this.runs.degrees;
    const observed = (this.runs.squares / this.runs.degrees + TIMER_SD ** 2) / this.runs.repeats;
    const observedLog = Math.log(observed);
    const half = this.runs.degrees / 2;
    for (let i = 0; i < STEPS; i += 1) {
      const ratio = observed / at(this.#prior.squares, i);
      const log = 1 + observedLog - 2 * at(this.#prior.sdLogs, i);
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
      const weight = at(this.#weights, i);
      if (weight < 1e-9) continue;
      const x = Math.abs(residual) / Math.sqrt(scale * at(this.#prior.squares, i) + extra);
      p += weight * heavyTail(x);
    }
    return p;
  }

  /** The distance with this tail probability, by bisection to 2 % of the sd. */
  offOf(p: number, scale: number, extra: number): number {
    let low = 0;
    let high = 40 * this.sd + 5 * Math.sqrt(extra);
    while (this.tail(high, scale, extra) > p) high *= 2;
    while (high - low > 0.02 * this.sd * Math.min(1, Math.sqrt(scale))) {
      const middle = (low + high) / 2;
      if (this.tail(middle, scale, extra) < p) high = middle;
      else low = middle;
    }
    return high;
  }
}

/** P(|T| > x) of Student's t with 5 degrees of freedom scaled to variance 1. @see scipy.stats.t.sf(x * sqrt(5 / 3), 5) * 2 */
export function heavyTail(x: number): number {
  const angle = Math.atan(x / Math.sqrt(3));
  const cosine = Math.cos(angle);
  return Math.max(1e-12, 1 - (2 / Math.PI) * (angle + Math.sin(angle) * (cosine + (2 / 3) * cosine ** 3)));
}
