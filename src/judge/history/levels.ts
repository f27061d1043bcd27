import { at } from '../../statistics/at.ts';
import { middleOf, differences, scaleOf } from '../../statistics/order-statistics.ts';
import { mannWhitneyP } from '../../statistics/mann-whitney.ts';
import { HISTORY } from './settings.ts';

/** Levels of a series and margins between neighbors, updated while levels are joined. */
export class Levels {
  readonly series: NoisySeries;
  private readonly list: Level[];
  private readonly margins: number[];

  /** @param starts of levels, except the first */
  constructor(series: NoisySeries, starts: readonly number[]) {
    const edges = Float64Array.of(0, ...starts, series.logs.length);
    this.series = series;
    this.list = Array.from({ length: starts.length + 1 }, (_, index) =>
      levelOf(series, at(edges, index), at(edges, index + 1)),
    );
    this.margins = [];
    for (let boundary = 0; boundary < starts.length; boundary += 1) this.reckon(boundary);
  }

  get levels(): readonly Level[] {
    return this.list;
  }

  /** Boundary `i` lies between level `i` and the next. */
  marginAt(boundary: number): number {
    const margin = this.margins[boundary];
    if (margin === undefined) throw new RangeError(`no boundary ${boundary} between ${this.list.length} levels`);
    return margin;
  }

  /** Joins levels across the weakest boundary until all have a margin of 1. */
  dropWeak(): void {
    for (;;) {
      const weakest = this.margins.indexOf(Math.min(...this.margins));
      if (weakest === -1 || this.marginAt(weakest) >= 1) return;
      const [before, after] = [this.list[weakest], this.list[weakest + 1]];
      if (before === undefined || after === undefined) return;
      this.replace(weakest, 2, levelOf(this.series, before.from, after.to));
    }
  }

  /**
   * Removes a level: joins it with both neighbors, or with the one before when it is the newest. Its values do not move
   * the median of the joined level.
   */
  takeOut(index: number): void {
    const before = this.list[index - 1];
    const after = this.list[index + 1];
    const taken = this.list[index];
    if (before === undefined || taken === undefined) return;
    const last = after ?? taken;
    const { clipped } = this.series;
    const kept = [...clipped.subarray(before.from, before.to)];
    if (after !== undefined) kept.push(...clipped.subarray(after.from, after.to));
    const joined = levelOf(this.series, before.from, last.to);
    const median = middleOf(Float64Array.from(kept));
    this.replace(index - 1, after === undefined ? 2 : 3, { ...joined, median });
  }

  private replace(from: number, count: number, level: Level): void {
    this.list.splice(from, count, level);
    this.margins.splice(from, count - 1);
    if (from > 0) this.reckon(from - 1);
    if (from < this.margins.length) this.reckon(from);
  }

  private reckon(boundary: number): void {
    const [before, after] = [this.list[boundary], this.list[boundary + 1]];
    if (before === undefined || after === undefined) return;
    this.margins[boundary] = marginOf(this.series, before, after);
  }
}

/** Sweeps `[from, to)` at one level. */
export interface Level {
  readonly from: number;
  readonly to: number;
  /** Log scale, of clipped values. */
  readonly median: number;
  /** From the median absolute deviation; 0 for a level that is too short. */
  readonly deviation: number;
}

export interface NoisySeries {
  readonly measures: LevelMeasures;
  readonly logs: Float64Array;
  readonly clipped: Float64Array;
  readonly sigma: number;
  readonly slowFactor: number;
}

function levelOf({ measures }: NoisySeries, from: number, to: number): Level {
  const { median, apart } = measures.spreadOf(from, to);
  return { from, to, median, deviation: to - from < HISTORY.levelNights ? 0 : 1.4826 * apart };
}

/** What costs most of levels. */
export interface LevelMeasures {
  /** Median of the clipped values of `[from, to)`, and median absolute deviation from it. */
  spreadOf(from: number, to: number): { readonly median: number; readonly apart: number };
  /** That the raw values of `[from, place)` and of `[place, to)` are similar: p value. */
  rankP(from: number, place: number, to: number): number;
}

export function plainMeasures(logs: Float64Array, clipped: Float64Array): LevelMeasures {
  return {
    spreadOf(from, to) {
      const own = clipped.slice(from, to);
      const median = middleOf(own);
      for (let sweep = 0; sweep < own.length; sweep += 1) own[sweep] = Math.abs(at(own, sweep) - median);
      return { median, apart: middleOf(own) };
    },
    rankP: (from, place, to) => mannWhitneyP(logs.subarray(from, place), logs.subarray(place, to)),
  };
}

/**
 * How clear the boundary between two levels is; below 1 there is none. The least of three measures in units of their
 * thresholds (standard errors, deviations, relative change), and a rank test of the raw values.
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
  return margin >= 1 && isContested(series, a, b) ? JUST_UNDER : margin;
}

const JUST_UNDER = 0.99;

function levelNoise(clipped: Float64Array, from: number, to: number, sigma: number, deviation: number): number {
  const local = scaleOf(differences(clipped, 1, from, to), 0.6);
  return Math.max(local, HISTORY.noiseShare * sigma, deviation);
}

/** Raw values of both sides overlap too much, or a young level is not unanimous. */
function isContested({ logs, measures }: NoisySeries, a: Level, b: Level): boolean {
  const { rankNights, leastRankNights, rankP, youngNights } = HISTORY;
  const [from, to] = [Math.max(a.from, a.to - rankNights), Math.min(b.to, b.from + rankNights)];
  const isLong = a.to - from >= leastRankNights && to - b.from >= leastRankNights;
  if (isLong && measures.rankP(from, b.from, to) > rankP) return true;
  const isNewest = b.to === logs.length;
  if (!isNewest || b.to - b.from >= youngNights) return false;
  const shift = b.median - a.median;
  const half = a.median + shift / 2;
  return logs.subarray(b.from, b.to).some((value) => (value - half) * Math.sign(shift) <= 0);
}

/**
 * The first level that is no change but a recurring state: a burst of outliers, a slower clock, the other of two modes.
 * -1 when there is none.
 */
export function findKnownState(levels: Levels): number {
  const list = levels.levels;
  for (let index = 1; index < list.length; index += 1) {
    if (isKnownState(levels, index)) return index;
  }
  return -1;
}

function isKnownState({ levels, series }: Levels, index: number): boolean {
  const before = levels[index - 1];
  const level = levels[index];
  if (before === undefined || level === undefined) return false;
  const after = levels[index + 1];
  const shift = level.median - before.median;
  const nights = level.to - level.from;
  const { backShare, burstNights, stateNights, stateDeviations, stateVisits, stayFactor } = HISTORY;
  const isBack = after !== undefined && Math.abs(after.median - before.median) < backShare * Math.abs(shift);
  if (isBack && nights < burstNights) return true;
  if (nights > stateNights || Math.abs(shift) < stateDeviations * series.sigma) return false;
  if (!isBack && after !== undefined) return false;
  const tolerance = Math.max(HISTORY.similarShare * Math.abs(shift), series.sigma);
  const { visits, longest } = visitsElsewhere(levels, series.logs, index, shift, tolerance);
  return visits >= stateVisits && (isBack || nights <= Math.max(burstNights, stayFactor * longest));
}

/** How often raw values went off by the same shift elsewhere, and for how long at most. */
function visitsElsewhere(
  levels: readonly Level[],
  logs: Float64Array,
  except: number,
  shift: number,
  tolerance: number,
): { visits: number; longest: number } {
  let visits = 0;
  let longest = 0;
  for (const [index, level] of levels.entries()) {
    if (index === except) continue;
    let stay = 0;
    for (let night = level.from; night < level.to; night += 1) {
      const isThere = Math.abs(at(logs, night) - (level.median + shift)) <= tolerance;
      stay = isThere ? stay + 1 : 0;
      if (stay === 1) visits += 1;
      longest = Math.max(longest, stay);
    }
    if (isSimilarExcursion(levels, index, shift, tolerance)) {
      visits += 1;
      longest = Math.max(longest, level.to - level.from);
    }
  }
  return { visits, longest };
}

/** Another level with the same shift that came back. */
function isSimilarExcursion(levels: readonly Level[], index: number, shift: number, tolerance: number): boolean {
  const [before, level, after] = [levels[index - 1], levels[index], levels[index + 1]];
  if (before === undefined || level === undefined || after === undefined) return false;
  return (
    Math.abs(level.median - before.median - shift) <= tolerance &&
    Math.abs(after.median - before.median) < HISTORY.backShare * Math.abs(shift)
  );
}
