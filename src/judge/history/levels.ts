import { at } from '../../statistics/at.ts';
import { mannWhitneyP } from '../../statistics/mann-whitney.ts';
import { differences, middleOf, scaleOf } from '../../statistics/order-statistics.ts';
import { HISTORY } from './settings.ts';

/** Sweeps `[from, to)` at one level. */
export interface Level {
  readonly from: number;
  readonly to: number;
  readonly median: number;
  /** Standard deviation from the median absolute deviation; 0 for a level that is too short. */
  readonly deviation: number;
}

/** One value per sweep in logarithms. */
export interface NoisySeries {
  readonly logs: Float64Array;
  /** The logarithms with single outliers clipped. */
  readonly clipped: Float64Array;
  readonly sigma: number;
  readonly slowFactor: number;
}

/**
 * Levels with clear boundaries and without known states.
 * @param starts starts of levels, except the first
 * @returns `margins`: margin of the boundary between each level and the next, at least 1
 */
export function clearLevels(series: NoisySeries, starts: readonly number[]) {
  const edges = [0, ...starts, series.logs.length];
  let cut = joinWeak(
    series,
    edges.slice(1).map((to, place) => levelOf(series, edges[place] ?? 0, to)),
  );
  for (let state = knownState(series, cut.levels); state !== -1; state = knownState(series, cut.levels)) {
    cut = joinWeak(series, withoutState(series, cut.levels, state));
  }
  return cut;
}

function levelOf({ clipped }: NoisySeries, from: number, to: number): Level {
  const own = clipped.slice(from, to);
  const median = middleOf(own);
  const apart = own.map((value) => Math.abs(value - median));
  return { from, to, median, deviation: to - from < HISTORY.levelSweeps ? 0 : 1.4826 * middleOf(apart) };
}

/** Joins levels across the weakest boundary until all have a margin of 1. */
function joinWeak(series: NoisySeries, all: readonly Level[]) {
  for (let levels = all; ;) {
    const margins = levels.slice(1).map((level, boundary) => marginOf(series, levels[boundary] ?? level, level));
    const least = Math.min(...margins);
    const weakest = margins.indexOf(least);
    const [before, after] = [levels[weakest], levels[weakest + 1]];
    if (least >= 1 || before === undefined || after === undefined) return { levels, margins };
    levels = levels.toSpliced(weakest, 2, levelOf(series, before.from, after.to));
  }
}

/**
 * Joins a level with both neighbors, or, when it is the newest, with the previous one. Its values do not affect the
 * median of the joined level.
 */
function withoutState(series: NoisySeries, levels: readonly Level[], index: number): readonly Level[] {
  const around = levels.slice(index - 1, index + 2);
  const kept = around.flatMap(({ from, to }, place) => (place === 1 ? [] : [...series.clipped.subarray(from, to)]));
  const joined = levelOf(series, around[0]?.from ?? 0, around.at(-1)?.to ?? 0);
  return levels.toSpliced(index - 1, around.length, { ...joined, median: middleOf(Float64Array.from(kept)) });
}

const JUST_UNDER = 0.99;

/**
 * Clearness of the boundary between two levels; below 1 there is none. It is the smallest of three measures in units of
 * their thresholds: standard errors, standard deviations, relative change.
 */
function marginOf(series: NoisySeries, a: Level, b: Level): number {
  const { clipped, logs, sigma, slowFactor } = series;
  const { leastChange, leastDeviations, leastErrors, leastRankSweeps, medianError, near, rankP, rankSweeps } = HISTORY;
  const noiseIn = (from: number, to: number, { deviation }: Level): number =>
    Math.max(scaleOf(differences(clipped, 1, from, to), 0.6), HISTORY.noiseShare * sigma, deviation);
  const shift = b.median - a.median;
  const noiseA = noiseIn(Math.max(a.from, a.to - near), a.to, a);
  const noiseB = noiseIn(b.from, Math.min(b.to, b.from + near), b);
  const error = Math.sqrt((noiseA * noiseA) / (a.to - a.from) + (noiseB * noiseB) / (b.to - b.from));
  const margin = Math.min(
    Math.abs(shift) / (medianError * slowFactor * error) / leastErrors,
    Math.abs(shift) / Math.max(noiseA, noiseB) / leastDeviations,
    Math.abs(shift) / leastChange,
  );
  if (margin < 1) return margin;
  const before = logs.subarray(Math.max(a.from, a.to - rankSweeps), a.to);
  const after = logs.subarray(b.from, Math.min(b.to, b.from + rankSweeps));
  const isShort = Math.min(before.length, after.length) < leastRankSweeps;
  // A rank test does not distinguish the raw values of the two sides.
  if (!isShort && mannWhitneyP(before, after) > rankP) return JUST_UNDER;
  // Every sweep of a young newest level must lie beyond half of the shift.
  const isYoung = b.to === logs.length && b.to - b.from < HISTORY.youngSweeps;
  const isBeyond = (value: number): boolean => (value - a.median - shift / 2) * Math.sign(shift) > 0;
  return isYoung && !after.every(isBeyond) ? JUST_UNDER : margin;
}

/**
 * Index of the first level that is a recurring state rather than a change: a burst of outliers, a slower clock, the
 * other of two modes. -1 when there is none.
 */
function knownState({ logs, sigma }: NoisySeries, levels: readonly Level[]): number {
  const { backShare, burstSweeps, stateSweeps, stateDeviations, stateVisits, stayFactor } = HISTORY;
  return levels.findIndex((level, index) => {
    const [before, after] = [levels[index - 1], levels[index + 1]];
    if (before === undefined) return false;
    const shift = level.median - before.median;
    const sweeps = level.to - level.from;
    const isBack = after !== undefined && Math.abs(after.median - before.median) < backShare * Math.abs(shift);
    if (isBack && sweeps < burstSweeps) return true;
    if (sweeps > stateSweeps || Math.abs(shift) < stateDeviations * sigma) return false;
    if (!isBack && after !== undefined) return false;
    const tolerance = Math.max(HISTORY.similarShare * Math.abs(shift), sigma);
    const stays = levels.flatMap(({ from, to, median }, other) =>
      other === index ? [] : staysIn(logs, from, to, (log) => Math.abs(log - median - shift) <= tolerance),
    );
    return stays.length >= stateVisits && (isBack || sweeps <= Math.max(burstSweeps, stayFactor * Math.max(...stays)));
  });
}

/** Lengths of the runs of consecutive sweeps in `[from, to)` that fulfil a condition. */
export function staysIn(logs: Float64Array, from: number, to: number, isThere: (log: number) => boolean): number[] {
  const stays: number[] = [];
  let stay = 0;
  for (let sweep = from; sweep <= to; sweep += 1) {
    if (sweep < to && isThere(at(logs, sweep))) stay += 1;
    else {
      if (stay > 0) stays.push(stay);
      stay = 0;
    }
  }
  return stays;
}
