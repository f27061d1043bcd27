import { at } from '../../statistics/at.ts';
import { mannWhitneyP } from '../../statistics/mann-whitney.ts';
import { differences, middleOf, scaleOf } from '../../statistics/order-statistics.ts';
import { HISTORY } from './settings.ts';

/** Sweeps `[from, to)` at one level. */
export interface Level {
  readonly from: number;
  readonly to: number;
  /** Log scale, of clipped values. */
  readonly median: number;
  /** From the median absolute deviation; 0 for a level that is too short. */
  readonly deviation: number;
}

/** One value a sweep, in logarithms. */
export interface NoisySeries {
  readonly logs: Float64Array;
  /** The same without single outliers. */
  readonly clipped: Float64Array;
  /** Standard deviation of one sweep. */
  readonly sigma: number;
  /** At least 1. */
  readonly slowFactor: number;
}

/**
 * Levels whose boundaries are clear, known states taken out.
 * @param starts of levels, except the first
 * @returns `margins`: of the boundary between each level and the next, at least 1
 */
export function clearLevels(series: NoisySeries, starts: readonly number[]) {
  const edges = [0, ...starts, series.logs.length];
  let levels = joinWeak(
    series,
    edges.slice(1).map((to, place) => levelOf(series, edges[place] ?? 0, to)),
  );
  for (let state = knownState(series, levels); state !== -1; state = knownState(series, levels)) {
    levels = joinWeak(series, withoutState(series, levels, state));
  }
  return { levels, margins: marginsOf(series, levels) };
}

function levelOf({ clipped }: NoisySeries, from: number, to: number): Level {
  const own = clipped.slice(from, to);
  const median = middleOf(own);
  const apart = own.map((value) => Math.abs(value - median));
  return { from, to, median, deviation: to - from < HISTORY.levelSweeps ? 0 : 1.4826 * middleOf(apart) };
}

/** Joins levels across the weakest boundary until all have a margin of 1. */
function joinWeak(series: NoisySeries, levels: readonly Level[]): readonly Level[] {
  for (let list = levels; ;) {
    const margins = marginsOf(series, list);
    const least = Math.min(...margins);
    const weakest = margins.indexOf(least);
    const [before, after] = [list[weakest], list[weakest + 1]];
    if (least >= 1 || before === undefined || after === undefined) return list;
    list = list.toSpliced(weakest, 2, levelOf(series, before.from, after.to));
  }
}

/**
 * Joins a level with both neighbors, or with the one before when it is the newest. Its values do not move the median of
 * the joined level.
 */
function withoutState(series: NoisySeries, levels: readonly Level[], index: number): readonly Level[] {
  const [before, state, after] = [levels[index - 1], levels[index], levels[index + 1]];
  if (before === undefined || state === undefined) return levels;
  const kept = [before, ...(after === undefined ? [] : [after])].flatMap(({ from, to }) => [
    ...series.clipped.subarray(from, to),
  ]);
  const median = middleOf(Float64Array.from(kept));
  const joined = { ...levelOf(series, before.from, (after ?? state).to), median };
  return levels.toSpliced(index - 1, after === undefined ? 2 : 3, joined);
}

function marginsOf(series: NoisySeries, levels: readonly Level[]): number[] {
  return levels.slice(1).map((level, boundary) => marginOf(series, levels[boundary] ?? level, level));
}

/**
 * How clear the boundary between two levels is; below 1 there is none. The least of three measures in units of their
 * thresholds: standard errors, deviations, relative change.
 */
function marginOf(series: NoisySeries, a: Level, b: Level): number {
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
  return margin >= 1 && (isOverlapping(series, a, b) || !isUnanimous(series, a, b)) ? JUST_UNDER : margin;
}

const JUST_UNDER = 0.99;

function levelNoise(clipped: Float64Array, from: number, to: number, sigma: number, deviation: number): number {
  return Math.max(scaleOf(differences(clipped, 1, from, to), 0.6), HISTORY.noiseShare * sigma, deviation);
}

/** Raw values of both sides are too similar for a rank test. */
function isOverlapping({ logs }: NoisySeries, a: Level, b: Level): boolean {
  const { rankSweeps, leastRankSweeps, rankP } = HISTORY;
  const before = logs.subarray(Math.max(a.from, a.to - rankSweeps), a.to);
  const after = logs.subarray(b.from, Math.min(b.to, b.from + rankSweeps));
  return Math.min(before.length, after.length) >= leastRankSweeps && mannWhitneyP(before, after) > rankP;
}

/** A young newest level lies beyond half of the shift in every sweep. */
function isUnanimous({ logs }: NoisySeries, a: Level, b: Level): boolean {
  if (b.to < logs.length || b.to - b.from >= HISTORY.youngSweeps) return true;
  const shift = b.median - a.median;
  const half = a.median + shift / 2;
  return logs.subarray(b.from, b.to).every((value) => (value - half) * Math.sign(shift) > 0);
}

/**
 * The first level that is no change but a recurring state: a burst of outliers, a slower clock, the other of two modes.
 * -1 when there is none.
 */
function knownState(series: NoisySeries, levels: readonly Level[]): number {
  return levels.findIndex((_, index) => isKnownState(series, levels, index));
}

function isKnownState({ logs, sigma }: NoisySeries, levels: readonly Level[], index: number): boolean {
  const [before, level, after] = [levels[index - 1], levels[index], levels[index + 1]];
  if (before === undefined || level === undefined) return false;
  const shift = level.median - before.median;
  const sweeps = level.to - level.from;
  const { backShare, burstSweeps, stateSweeps, stateDeviations, stateVisits, stayFactor } = HISTORY;
  const isBack = after !== undefined && Math.abs(after.median - before.median) < backShare * Math.abs(shift);
  if (isBack && sweeps < burstSweeps) return true;
  if (sweeps > stateSweeps || Math.abs(shift) < stateDeviations * sigma) return false;
  if (!isBack && after !== undefined) return false;
  const tolerance = Math.max(HISTORY.similarShare * Math.abs(shift), sigma);
  const stays = levels.flatMap(({ from, to, median }, other) =>
    other === index ? [] : staysIn(logs, from, to, (log) => Math.abs(log - median - shift) <= tolerance),
  );
  return stays.length >= stateVisits && (isBack || sweeps <= Math.max(burstSweeps, stayFactor * Math.max(...stays)));
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
