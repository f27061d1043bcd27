import { at } from '../../statistics/at.ts';
import { isBuildLuck } from './noise.ts';
import { type ChangePoint, type CutHistory, cutHistory } from './change-points.ts';
import { staysIn } from './levels.ts';
import type { CellHistory } from './noise.ts';
import { ALERTING, HISTORY } from './settings.ts';

/** A change of level that is known to last. */
export interface LastingChange extends ChangePoint {
  /** The sweep in which that became known, as in `nights`. */
  readonly knownAt: number;
  /** It began with a new build of the same sources: named as such, and no alarm. */
  readonly isBuildLuck: boolean;
}

/**
 * The changes that last, each as of the first sweep from `since` on that shows it with only the past: a sweep that is
 * asked alone shows all that are known in it, whenever that became so. The direction of one: `directionOf(shift)`.
 * @param since as in `nights`; the newest sweep costs one look where nothing changed
 */
export function lastingChanges(history: CellHistory, since = 0): readonly LastingChange[] {
  const { nights, values } = history;
  // Such a history has no level but one; most sizes are so.
  if (values.every((value) => value === at(values, 0))) return [];
  const found: LastingChange[] = [];
  const looks = new Map<number, CutHistory>();
  const lookAt = (sweeps: number): CutHistory => {
    const look = looks.get(sweeps) ?? cutHistory(windowUntil(history, sweeps));
    looks.set(sweeps, look);
    return look;
  };
  const first = nights.findIndex((place) => place >= since);
  for (const [index, knownAt] of nights.entries()) {
    if (first === -1 || index < first || index + 1 < ALERTING.firstNight) continue;
    const offset = Math.max(0, index + 1 - ALERTING.windowNights);
    for (const change of lookAt(index + 1).changes) {
      if (found.some((other) => isSame(other, change)) || !isLasting(change, index + 1, lookAt)) continue;
      const global = { ...change, index: change.index + offset };
      found.push({ ...global, knownAt, isBuildLuck: isBuildLuck(history, global.index) });
    }
    looks.delete(index + 2 - ALERTING.oldLooks);
  }
  return found;
}

/** Places this close are those of one change. */
export function isSame(a: Pick<ChangePoint, 'night'>, b: Pick<ChangePoint, 'night'>): boolean {
  return Math.abs(a.night - b.night) <= ALERTING.sameNights;
}

/**
 * The past up to a sweep, limited to the window.
 * @param sweeps measured ones
 */
function windowUntil(history: CellHistory, sweeps: number): CellHistory {
  const from = Math.max(0, sweeps - ALERTING.windowNights);
  return {
    nights: history.nights.slice(from, sweeps),
    values: history.values.subarray(from, sweeps),
    clock: history.clock?.slice(from, sweeps),
  };
}

/** Seen in several looks running: two while it is young, later in more, or in all that can show its level. */
function isLasting(change: ChangePoint, sweeps: number, lookAt: (sweeps: number) => CutHistory): boolean {
  const newest = lookAt(sweeps);
  const age = newest.logs.length - change.index;
  const isFresh = age <= ALERTING.freshNights;
  if (age < leastAge(change, newest) || !(isFresh || isClear(change, newest))) return false;
  const looks = isFresh ? ALERTING.looks : Math.min(ALERTING.oldLooks, age - HISTORY.leastLevel + 1);
  for (let past = sweeps - 1; past > sweeps - looks; past -= 1) {
    if (!lookAt(past).changes.some(({ night }) => Math.abs(night - change.night) <= ALERTING.moveSweeps)) return false;
  }
  return true;
}

/** What shows late is weak. In a young history a slow wave looks like a change, and its beginning is no news. */
function isClear({ index, margin }: ChangePoint, { logs }: CutHistory): boolean {
  const { firstNight, freshNights, youngPower, youngSweeps } = ALERTING;
  return index >= firstNight - freshNights && margin >= 1 + (youngSweeps / logs.length) ** youngPower;
}

/** In sweeps: a restless cell, that stayed there before, has to stay as long again. */
function leastAge({ index, before, shift }: ChangePoint, { logs, sigma }: CutHistory): number {
  const tolerance = Math.max(HISTORY.similarShare * Math.abs(shift), sigma);
  // A single sweep is an outlier.
  const stays = staysIn(logs, 0, index, (log) => Math.abs(log - before - shift) <= tolerance).filter(
    (stay) => stay > 1 && stay <= HISTORY.stateSweeps,
  );
  return stays.length === 0 ? 0 : Math.max(ALERTING.visitedAge, ...stays);
}
