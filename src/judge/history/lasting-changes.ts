import { mannWhitneyP } from '../../statistics/p-values.ts';
import { at, differences, medianIn, middleOf, scaleOf } from '../../statistics/order-statistics.ts';
import { ALERTING, type CellHistory, HISTORY, isBuildLuck, logsOf, noiseOf } from './noise.ts';

/**
 * The lasting changes, each as of the first sweep from `since` that shows it with only the past: `knownAt`, an index as
 * in `places`. A change that began with a new build of the same sources is not an alarm.
 */
export function lastingChanges(history: CellHistory, since = 0) {
  const { places, values } = history;
  // A constant history has one level; most sizes are constant.
  if (values.every((value) => value === at(values, 0))) return [];
  const found: (ChangePoint & { readonly knownAt: number; readonly isBuildLuck: boolean })[] = [];
  const looks: (readonly ChangePoint[])[] = [];
  const lookAt = (to: number): readonly ChangePoint[] => {
    const from = Math.max(0, to - ALERTING.windowSweeps);
    const clock = history.clock?.slice(from, to);
    const past = { places: places.slice(from, to), values: values.subarray(from, to), clock };
    return (looks[to] ??= findChangePoints(past).map((change) => ({ ...change, index: from + change.index })));
  };
  for (const [index, knownAt] of places.entries()) {
    if (knownAt < since || index + 1 < ALERTING.firstSweep) continue;
    for (const change of lookAt(index + 1)) {
      if (found.some((other) => isSame(other, change)) || !isLasting(change, index + 1, lookAt)) continue;
      found.push({ ...change, knownAt, isBuildLuck: isBuildLuck(history, change.index) });
    }
  }
  return found;
}

export function isSame(a: Pick<ChangePoint, 'place'>, b: Pick<ChangePoint, 'place'>): boolean {
  return Math.abs(a.place - b.place) <= ALERTING.sameSweeps;
}

/** Whether consecutive looks show the change: two for a young change; for an older one, six or all that can show it. */
function isLasting({ index, place }: ChangePoint, sweeps: number, lookAt: (sweeps: number) => readonly ChangePoint[]) {
  const age = sweeps - index;
  const isFresh = age <= ALERTING.freshSweeps;
  const looks = isFresh ? ALERTING.looks : Math.min(ALERTING.oldLooks, age - HISTORY.leastLevel + 1);
  return Array.from({ length: looks - 1 }, (_, past) => lookAt(sweeps - 1 - past)).every((changes) =>
    changes.some((other) => other.place === place),
  );
}

export type ChangePoint = ReturnType<typeof findChangePoints>[number];

/**
 * The changes between the levels of a history. A short history has one level. `place`: the first sweep at the new level;
 * `index`: its index among the measured sweeps; `shift`: difference of the levels, log scale.
 */
export function findChangePoints(history: CellHistory) {
  const logs = logsOf(history);
  const series = { logs, ...noiseOf(logs) };
  const { clipped, sigma, slowFactor } = series;
  const center = medianIn(clipped, 0, clipped.length);
  const z = clipped.map((value) => (value - center) / sigma);
  const penalty = HISTORY.penalty * slowFactor * slowFactor * Math.log(z.length);
  const starts = logs.length < HISTORY.leastSweeps ? [] : segment(z, penalty, HISTORY.leastLevel);
  const edges = [0, ...starts, logs.length];
  const all = edges.slice(1).map((to, place) => levelOf(series, edges[place] ?? 0, to));
  const { levels, margins } = clearLevels(series, all);
  return levels.slice(1).map(({ from, median }: Level, boundary) => {
    const before = levels[boundary]?.median ?? median;
    const margin = margins[boundary] ?? 0;
    return { place: history.places[from] ?? from, index: from, shift: median - before, margin };
  });
}

export function directionOf(change: number, betterIs: 'lower' | 'higher'): 'slower' | 'faster' {
  return change > 0 === (betterIs === 'lower') ? 'slower' : 'faster';
}

/**
 * Cuts a series into levels by exact least squares. It minimizes the sum of squares plus `penalty` per cut, by dynamic
 * programming over the start of the last level (optimal partitioning: Jackson et al. 2005). @param z series in units of
 * its noise
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

type Level = ReturnType<typeof levelOf>;

type NoisySeries = ReturnType<typeof noiseOf> & { readonly logs: Float64Array };

/** Levels with clear boundaries and without known states. */
function clearLevels(series: NoisySeries, all: readonly Level[]): ReturnType<typeof joinWeak> {
  const cut = joinWeak(series, all);
  const state = knownState(series, cut.levels);
  return state === -1 ? cut : clearLevels(series, withoutState(series, cut.levels, state));
}

/** `deviation`: standard deviation from the median absolute deviation; 0 for a level that is too short. */
function levelOf({ clipped }: NoisySeries, from: number, to: number) {
  const own = clipped.slice(from, to);
  const median = middleOf(own);
  const apart = own.map((value) => Math.abs(value - median));
  return { from, to, median, deviation: to - from < HISTORY.levelSweeps ? 0 : 1.4826 * middleOf(apart) };
}

function joinWeak(series: NoisySeries, levels: readonly Level[]): { levels: readonly Level[]; margins: number[] } {
  const margins = levels.slice(1).map((level, boundary) => marginOf(series, levels[boundary] ?? level, level));
  const least = Math.min(...margins);
  const weakest = margins.indexOf(least);
  const [before, after] = [levels[weakest], levels[weakest + 1]];
  if (least >= 1 || before === undefined || after === undefined) return { levels, margins };
  return joinWeak(series, levels.toSpliced(weakest, 2, levelOf(series, before.from, after.to)));
}

/** Joins a level with both neighbors, or, when it is the newest, with the previous one. */
function withoutState(series: NoisySeries, levels: readonly Level[], index: number): readonly Level[] {
  const around = levels.slice(index - 1, index + 2);
  const kept = around.flatMap(({ from, to }, place) => (place === 1 ? [] : [...series.clipped.subarray(from, to)]));
  const joined = levelOf(series, around[0]?.from ?? 0, around.at(-1)?.to ?? 0);
  return levels.toSpliced(index - 1, around.length, { ...joined, median: middleOf(Float64Array.from(kept)) });
}

/** Clearness of the boundary between two levels, in units of its thresholds; below 1 there is none. */
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
  // Just under 1: a rank test does not distinguish the raw values of the two sides.
  return !isShort && mannWhitneyP(before, after) > rankP ? 0.99 : margin;
}

/** Index of the first level that is a recurring state: a burst, a slower clock, the other of two modes; else -1. */
function knownState({ logs, sigma }: NoisySeries, levels: readonly Level[]): number {
  const { backShare, burstSweeps, stateSweeps, stateDeviations, stateVisits } = HISTORY;
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
    const visits = levels.reduce((sum, { from, to, median }, other) => {
      if (other === index) return sum;
      const isThere = [...logs.subarray(from, to)].map((log) => Math.abs(log - median - shift) <= tolerance);
      return sum + isThere.filter((is, sweep) => is && isThere[sweep + 1] !== true).length;
    }, 0);
    return visits >= stateVisits;
  });
}
