import { at } from '../../statistics/at.ts';
import { medianIn } from '../../statistics/order-statistics.ts';
import { clearLevels, type Level, type NoisySeries } from './levels.ts';
import { type CellHistory, logsOf, noiseOf } from './noise.ts';
import { HISTORY } from './settings.ts';

export interface ChangePoint {
  /** First sweep at the new level. */
  readonly night: number;
  readonly index: number;
  /** Log of the level before; `shift` is the difference of the next level. */
  readonly before: number;
  readonly shift: number;
  /** How clear the change is; at least 1. */
  readonly margin: number;
}

/**
 * The change points of a history.
 *
 * The method uses logarithms, or clock cycles if the clock explains the sweeps. It takes the noise from differences of
 * neighbors, clips single outliers, finds exact least-squares levels, joins those without enough margin, and removes
 * known states. The same sweeps give the same result.
 */
export function findChangePoints(history: CellHistory): readonly ChangePoint[] {
  return cutHistory(history).changes;
}

/** The levels of a history, and the changes between them. A short history has one level. */
export function cutHistory(history: CellHistory) {
  const logs = logsOf(history);
  const series = { logs, ...noiseOf(logs) };
  const isLong = logs.length >= HISTORY.leastNights;
  const { levels, margins } = clearLevels(series, isLong ? startsOf(series) : []);
  const changes = levels.slice(1).map(({ from, median }: Level, boundary): ChangePoint => {
    const before = levels[boundary]?.median ?? median;
    const margin = margins[boundary] ?? 0;
    return { night: history.nights[from] ?? from, index: from, before, shift: median - before, margin };
  });
  return { logs, sigma: series.sigma, changes };
}

/** The direction of a change by its sign. */
export function directionOf(change: number, betterIs: 'lower' | 'higher'): 'slower' | 'faster' {
  return change > 0 === (betterIs === 'lower') ? 'slower' : 'faster';
}

function startsOf({ clipped, sigma, slowFactor }: NoisySeries): readonly number[] {
  const center = medianIn(clipped, 0, clipped.length);
  const z = clipped.map((value) => (value - center) / sigma);
  return segment(z, HISTORY.penalty * slowFactor * slowFactor * Math.log(z.length), HISTORY.leastLevel);
}

/**
 * Cuts a series into levels by exact least squares. It minimizes the sum of squares plus `penalty` per cut, by dynamic
 * programming over the start of the last level (optimal partitioning: Jackson et al. 2005). Of equal solutions, the
 * earliest start wins.
 * @param z series in units of its noise
 * @param shortest shortest level in sweeps
 * @returns starts of levels, except the first
 */
export function segment(z: Float64Array, penalty: number, shortest: number): number[] {
  const n = z.length;
  const sums = new Float64Array(n + 1);
  /** Cost of the best cut before each index, less the sum of squares before it. */
  const best = new Float64Array(n + 1).fill(Number.POSITIVE_INFINITY);
  const back = new Float64Array(n + 1);
  best[0] = -penalty;
  for (let t = 1; t <= n; t += 1) {
    const sum = at(sums, t - 1) + at(z, t - 1);
    sums[t] = sum;
    let least = Number.POSITIVE_INFINITY;
    for (let start = 0; start <= t - shortest; start += 1) {
      const difference = sum - (sums[start] ?? 0);
      const total = (best[start] ?? Number.POSITIVE_INFINITY) - (difference * difference) / (t - start);
      if (total >= least) continue;
      least = total;
      back[t] = start;
    }
    best[t] = least + penalty;
  }
  const starts: number[] = [];
  for (let t = at(back, n); t > 0; t = at(back, t)) starts.push(t);
  return starts.toReversed();
}
