import { at } from '../../statistics/at.ts';
import { medianIn } from '../../statistics/order-statistics.ts';
import { findKnownState, type Level, Levels, type NoisySeries, plainMeasures } from './levels.ts';
import { logsOf, type NightlyValues, noiseFloor, noiseOf } from './noise.ts';
import { SegmentStarts } from './segment-starts.ts';
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
 * In logarithms, as cycles where the clock explains the nights: noise from differences of neighbours, single outliers
 * clipped, exact least-squares levels, boundaries without enough margin joined, known states taken out. The same
 * nights give the same answer.
 */
export function findChangePoints(history: NightlyValues): readonly ChangePoint[] {
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

/** The levels of a history, and the changes between them. */
export function cutHistory(history: NightlyValues): CutHistory {
  const logs = logsOf(history);
  const { sigma, levels, cuts } = cutLevels(logs, noiseFloor(history), history.values.length >= HISTORY.leastNights);
  const changes = cuts.map((cut) => ({ ...cut, night: history.nights[cut.index] ?? cut.index }));
  return { logs, sigma, levels, changes };
}

/** What a change of a value means, by its sign. */
export function directionOf(change: number, betterIs: 'lower' | 'higher'): 'slower' | 'faster' {
  return change > 0 === (betterIs === 'lower') ? 'slower' : 'faster';
}

function cutLevels(logs: Float64Array, floor: number, isLong: boolean) {
  const noise = noiseOf(logs, floor);
  const series = { logs, ...noise, measures: plainMeasures(logs, noise.clipped) };
  if (!isLong) return { sigma: series.sigma, levels: new Levels(series, []).levels, cuts: [] };
  return { sigma: series.sigma, ...clearLevels(series, startsOf(series)) };
}

/** Starts of the levels of least squares, except the first. */
export function startsOf(series: NoisySeries): readonly number[] {
  const { clipped, sigma } = series;
  const centre = medianIn(clipped, 0, clipped.length);
  const z = clipped.map((value) => (value - centre) / sigma);
  return segment(z, penaltyOf(series), HISTORY.leastLevel);
}

/** Of a cut, in squares of `sigma`. */
export function penaltyOf({ logs, slowFactor }: NoisySeries): number {
  return HISTORY.penalty * slowFactor * slowFactor * Math.log(logs.length);
}

/** Levels whose boundaries are clear, known states taken out. */
export function clearLevels(series: NoisySeries, starts: readonly number[]) {
  const levels = new Levels(series, starts);
  levels.dropWeak();
  for (let state = findKnownState(levels); state !== -1; state = findKnownState(levels)) {
    levels.takeOut(state);
    levels.dropWeak();
  }
  const cuts = levels.levels.slice(1).map((level, boundary): Omit<ChangePoint, 'night'> => {
    const before = levels.levels[boundary]?.median ?? level.median;
    return {
      index: level.from,
      before,
      after: level.median,
      shift: level.median - before,
      margin: levels.marginAt(boundary),
    };
  });
  return { levels: levels.levels, cuts };
}

/**
 * Cuts a series into levels by exact least squares: minimizes the sum of squares plus `penalty` per cut. Dynamic
 * programming with the pruning of PELT (Killick, Fearnhead and Eckley 2012), delayed by the shortest level so that the
 * result is exact, up to the thinning of long series below.
 * @param z in units of its noise
 * @param shortest level in sweeps
 * @returns starts of levels, except the first
 */
export function segment(z: Float64Array, penalty: number, shortest: number): number[] {
  return boundaries(lastLevels(z, penalty, shortest), z.length);
}

/** Start of the last level in the best cut before each place. */
function lastLevels(z: Float64Array, penalty: number, shortest: number): Float64Array {
  const n = z.length;
  const { sums, squares, reciprocals } = prepare(z);
  const best = new Float64Array(n + 1).fill(Number.POSITIVE_INFINITY);
  best[0] = -penalty;
  const back = new Float64Array(n + 1);
  const starts = new SegmentStarts(reciprocals);
  for (let t = shortest; t <= n; t += 1) {
    const from = t - shortest;
    starts.add(from, at(best, from) - at(squares, from), at(sums, from));
    const isPruned = t % PRUNE_EVERY === 0;
    const sum = at(sums, t);
    const least = isPruned ? starts.cheapestOfAll(t, sum) : starts.cheapest(t, sum);
    best[t] = least + at(squares, t) + penalty;
    back[t] = starts.cheapestStart;
    if (!isPruned) continue;
    starts.prune(t, shortest, least + penalty);
    if (t % BLOCK === 0) starts.thinOut(t - FAR_NIGHTS, BLOCK);
    starts.summarise();
  }
  return back;
}

/**
 * Nothing prunes a series without changes, and 5000 nights would cost 12 million steps. So of the starts that lie far
 * back only the cheapest of each block stays: a change as old as that is distinguished from its neighbours by then.
 */
const FAR_NIGHTS = 256;
const BLOCK = 64;

/** Delayed pruning is as exact, and passes over all starts are what costs. Divides `BLOCK`. */
const PRUNE_EVERY = 32;

function prepare(z: Float64Array) {
  const sums = new Float64Array(z.length + 1);
  const squares = new Float64Array(z.length + 1);
  const reciprocals = new Float64Array(z.length + 1);
  for (let i = 0; i < z.length; i += 1) {
    const value = at(z, i);
    sums[i + 1] = at(sums, i) + value;
    squares[i + 1] = at(squares, i) + value * value;
    reciprocals[i + 1] = 1 / (i + 1);
  }
  return { sums, squares, reciprocals };
}

function boundaries(back: Float64Array, n: number): number[] {
  const found: number[] = [];
  for (let t = at(back, n); t > 0; t = at(back, t)) found.push(t);
  return found.toReversed();
}
