import { mannWhitneyP } from '../../statistics/mann-whitney.ts';
import { differences, medianIn, middleOf, scaleOf } from '../../statistics/order-statistics.ts';
import { HISTORY } from './settings.ts';

/** A stretch of nights `[from, to)` at one level. */
export interface Level {
  readonly from: number;
  readonly to: number;
  /** In logarithms, of the clipped nights. */
  readonly median: number;
  /** Standard deviation by the median absolute deviation; 0 for a level too short to say it. */
  readonly deviation: number;
}

/** A series with its noise: what margins are reckoned from. */
export interface NoisySeries {
  readonly logs: Float64Array;
  readonly clipped: Float64Array;
  readonly sigma: number;
  readonly slowFactor: number;
}

export function levelOf(clipped: Float64Array, from: number, to: number): Level {
  const median = medianIn(clipped, from, to);
  const isLong = to - from >= HISTORY.levelNights;
  return { from, to, median, deviation: isLong ? deviationFrom(clipped, from, to, median) : 0 };
}

function deviationFrom(values: Float64Array, from: number, to: number, median: number): number {
  const apart = values.slice(from, to).map((value) => Math.abs(value - median));
  return 1.4826 * middleOf(apart);
}

/**
 * How clear the boundary between two neighbouring levels is: under 1 it is none. The least of three measures, each in
 * units of what it needs: standard errors, deviations, relative change; and a rank test of the raw nights.
 */
export function marginOf(series: NoisySeries, a: Level, b: Level): number {
  const { clipped, sigma, slowFactor } = series;
  const shift = Math.abs(b.median - a.median);
  const { near, medianError, leastErrors, leastDeviations, leastChange } = HISTORY;
  const noiseA = levelNoise(clipped, Math.max(a.from, a.to - near), a.to, sigma, a.deviation);
  const noiseB = levelNoise(clipped, b.from, Math.min(b.to, b.from + near), sigma, b.deviation);
  const error = Math.sqrt((noiseA * noiseA) / (a.to - a.from) + (noiseB * noiseB) / (b.to - b.from));
  const margin = Math.min(
    shift / (medianError * slowFactor * error) / leastErrors,
    shift / Math.max(noiseA, noiseB) / leastDeviations,
    shift / leastChange,
  );
  return margin >= 1 && isContested(series.logs, a, b) ? JUST_UNDER : margin;
}

const JUST_UNDER = 0.99;

function levelNoise(clipped: Float64Array, from: number, to: number, sigma: number, deviation: number): number {
  const local = scaleOf(differences(clipped, 1, from, to), 0.6);
  return Math.max(local, HISTORY.noiseShare * sigma, deviation);
}

/** The raw nights on the two sides overlap too much, or a young level is not unanimous. */
function isContested(logs: Float64Array, a: Level, b: Level): boolean {
  const { rankNights, leastRankNights, rankP, youngNights } = HISTORY;
  const before = logs.subarray(Math.max(a.from, a.to - rankNights), a.to);
  const after = logs.subarray(b.from, Math.min(b.to, b.from + rankNights));
  if (before.length >= leastRankNights && after.length >= leastRankNights && mannWhitneyP(before, after) > rankP) {
    return true;
  }
  const isNewest = b.to === logs.length;
  if (!isNewest || b.to - b.from >= youngNights) return false;
  const shift = b.median - a.median;
  const half = a.median + shift / 2;
  return logs.subarray(b.from, b.to).some((value) => (value - half) * Math.sign(shift) <= 0);
}
