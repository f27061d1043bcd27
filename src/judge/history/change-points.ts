import { findKnownState } from './known-states.ts';
import { Levels } from './levels.ts';
import { logsOf, type NightlyValues, noiseFloor, noiseOf } from './noise.ts';
import { medianIn } from '../../statistics/order-statistics.ts';
import { segment } from './segment.ts';
import { HISTORY } from './settings.ts';

export interface ChangePoint {
  /** The first night at the new level. */
  readonly night: number;
  /** The same, counting measured nights only, from 0. */
  readonly index: number;
  /** The levels before and after, in logarithms, and their difference. */
  readonly before: number;
  readonly after: number;
  readonly shift: number;
  /** At least 1: how clear it is. */
  readonly margin: number;
}

/**
 * The places where the level of a history changed for good.
 *
 * In logarithms, as cycles where the clock explains the nights: noise from differences of neighbours, lone outliers
 * clipped, exact least-squares levels, boundaries without enough margin joined, known states taken out. The same
 * nights give the same answer.
 */
export function findChangePoints(history: NightlyValues): ChangePoint[] {
  if (history.values.length < HISTORY.leastNights) return [];
  return cutLevels(logsOf(history), noiseFloor(history)).map((cut) => ({
    ...cut,
    night: history.nights[cut.index] ?? cut.index,
  }));
}

/** The values since the last change of level. */
export function newestLevel(history: NightlyValues): number[] {
  const last = findChangePoints(history).at(-1);
  return [...history.values.subarray(last?.index ?? 0)];
}

function cutLevels(logs: Float64Array, floor: number): Omit<ChangePoint, 'night'>[] {
  const { clipped, sigma, slowFactor } = noiseOf(logs, floor);
  const centre = medianIn(clipped, 0, clipped.length);
  const starts = segment(
    clipped.map((value) => (value - centre) / sigma),
    HISTORY.penalty * slowFactor * slowFactor * Math.log(logs.length),
    HISTORY.leastLevel,
  );
  const levels = new Levels({ logs, clipped, sigma, slowFactor }, starts);
  levels.dropWeak();
  for (let state = findKnownState(levels); state !== -1; state = findKnownState(levels)) {
    levels.takeOut(state);
    levels.dropWeak();
  }
  return levels.levels.slice(1).map((level, boundary) => {
    const before = levels.levels[boundary]?.median ?? level.median;
    return {
      index: level.from,
      before,
      after: level.median,
      shift: level.median - before,
      margin: levels.marginAt(boundary),
    };
  });
}
