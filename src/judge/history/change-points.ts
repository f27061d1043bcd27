import { medianIn } from '../../statistics/order-statistics.ts';
import { clearLevels, type Level, type NoisySeries } from './levels.ts';
import { logsOf, type CellHistory, noiseOf } from './noise.ts';
import { segment } from './segment.ts';
import { HISTORY } from './settings.ts';

export interface ChangePoint {
  /** First sweep at the new level. */
  readonly night: number;
  /** Index among measured sweeps, 0-based. */
  readonly index: number;
  /** Logs of the levels, and their difference. */
  readonly before: number;
  readonly after: number;
  readonly shift: number;
  /** At least 1: how clear it is. */
  readonly margin: number;
}

/**
 * The places where the level of a history changed for good.
 *
 * In logarithms, as cycles where the clock explains the sweeps: noise from differences of neighbors, single outliers
 * clipped, exact least-squares levels, boundaries without enough margin joined, known states taken out. The same
 * sweeps give the same answer.
 */
export function findChangePoints(history: CellHistory): readonly ChangePoint[] {
  return cutHistory(history).changes;
}

/** A history cut into levels. */
export interface CutHistory {
  /** As cycles where the clock explains the sweeps. */
  readonly logs: Float64Array;
  /** Standard deviation of one sweep, in logarithms. */
  readonly sigma: number;
  /** Oldest first, without a gap; logs. */
  readonly levels: readonly Level[];
  /** Between them. */
  readonly changes: readonly ChangePoint[];
}

/** The levels of a history, and the changes between them. One level where it is short. */
export function cutHistory(history: CellHistory): CutHistory {
  const logs = logsOf(history);
  const series = { logs, ...noiseOf(logs) };
  const isLong = logs.length >= HISTORY.leastNights;
  const { levels, margins } = clearLevels(series, isLong ? startsOf(series) : []);
  const changes = levels.slice(1).map((level, boundary): ChangePoint => {
    const before = levels[boundary]?.median ?? level.median;
    return {
      night: history.nights[level.from] ?? level.from,
      index: level.from,
      before,
      after: level.median,
      shift: level.median - before,
      margin: margins[boundary] ?? 0,
    };
  });
  return { logs, sigma: series.sigma, levels, changes };
}

/** What a change of a value means, by its sign. */
export function directionOf(change: number, betterIs: 'lower' | 'higher'): 'slower' | 'faster' {
  return change > 0 === (betterIs === 'lower') ? 'slower' : 'faster';
}

/** Starts of the levels of least squares, except the first. */
function startsOf({ clipped, sigma, slowFactor }: NoisySeries): readonly number[] {
  const center = medianIn(clipped, 0, clipped.length);
  const z = clipped.map((value) => (value - center) / sigma);
  return segment(z, HISTORY.penalty * slowFactor * slowFactor * Math.log(z.length), HISTORY.leastLevel);
}
