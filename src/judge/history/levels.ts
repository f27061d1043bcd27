import { at } from '../../statistics/at.ts';
import { mannWhitneyP } from '../../statistics/mann-whitney.ts';
import { differences, middleOf, scaleOf } from '../../statistics/order-statistics.ts';
import { HISTORY } from './settings.ts';

/** Sweeps `[from, to)` at one level. */
export interface Level {
  readonly from: number;
  readonly to: number;
  readonly median: number;
  /** From the median absolute deviation; 0 for a level that is too short. */
  readonly deviation: number;
}

/** One value a sweep, in logarithms. */
export interface NoisySeries {
  readonly logs: Float64Array;
  /** The same without single outliers. */
  readonly clipped: Float64Array;
  readonly sigma: number;
  readonly slowFactor: number;
}

/**
 * Levels whose boundaries are clear, known states taken out.
 * @param starts of levels, except the first
 * @returns `margins`: of the boundary between each level and the next, at least 1
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
 * Joins a level with both neighbors, or with the one before when it is the newest. Its values do not move the median of
 * the joined level.
 */
function withoutState(series: NoisySeries, levels: readonly Level[], index: number): readonly Level[] {
  const around = levels.slice(index - 1, index + 2);
  const kept = around.flatMap(({ from, to }, place) => (place === 1 ? [] : [...series.clipped.subarray(from, to)]));
  const joined = levelOf(series, around[0]?.from ?? 0, around.at(-1)?.to ?? 0);
  return levels.toSpliced(index - 1, around.length, { ...joined, median: middleOf(Float64Array.from(kept)) });
}

const JUST_UNDER = 0.99;

/**
 * How clear the boundary between two levels is; below 1 there is none. The least of three measures in units of their
 * thresholds: standard errors, deviations, relative change.
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
  // Raw values of both sides are too similar for a rank test.
  if (!isShort && mannWhitneyP(before, after) > rankP) return JUST_UNDER;
  // A young newest level lies beyond half of the shift in every sweep.
  const isYoung = b.to === logs.length && b.to - b.from < HISTORY.youngSweeps;
  const isBeyond = (value: number): boolean => (value - a.median - shift / 2) * Math.sign(shift) > 0;
  return isYoung && !after.every(isBeyond) ? JUST_UNDER : margin;
}

/**
 * The first level that is no change but a recurring state: a burst of outliers, a slower clock, the other of two modes.
 * -1 when there is none.
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

/** Lengths of the runs of sweeps of `[from, to)` that are at some place. */
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
