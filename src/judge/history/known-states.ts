import { at } from '../../statistics/at.ts';
import type { Level, Levels } from './levels.ts';
import { HISTORY } from './settings.ts';

/**
 * The first level that is no change but a state that the machine goes to and comes back from: a burst of outliers, a
 * slower clock, the other of two modes. -1 when there is none.
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

/** How often the raw nights went off by the same shift elsewhere, and for how long at most. */
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

/** Another level that goes off by the same shift and comes back. */
function isSimilarExcursion(levels: readonly Level[], index: number, shift: number, tolerance: number): boolean {
  const [before, level, after] = [levels[index - 1], levels[index], levels[index + 1]];
  if (before === undefined || level === undefined || after === undefined) return false;
  return (
    Math.abs(level.median - before.median - shift) <= tolerance &&
    Math.abs(after.median - before.median) < HISTORY.backShare * Math.abs(shift)
  );
}
