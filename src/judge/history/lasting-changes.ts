import { at } from '../../statistics/at.ts';
import { type ChangePoint, cutHistory } from './change-points.ts';
import { staysIn } from './levels.ts';
import { type CellHistory, isBuildLuck } from './noise.ts';
import { ALERTING, HISTORY } from './settings.ts';

/** A change of level that is known to last. */
interface LastingChange extends ChangePoint {
  /** The sweep in which it became known that the change lasts; an index as in `nights`. */
  readonly knownAt: number;
  /** True if it began with a new build of the same sources; this is not an alarm. */
  readonly isBuildLuck: boolean;
}

type CutHistory = ReturnType<typeof cutHistory>;

/**
 * The lasting changes, each as of the first sweep from `since` that shows it with only the past. With `since` at the
 * last sweep, these are all changes known in it. `directionOf(shift)` gives the direction.
 * @param since index as in `nights`; for the newest sweep, a history without a change needs one look
 */
export function lastingChanges(history: CellHistory, since = 0): readonly LastingChange[] {
  const { nights, values } = history;
  // A constant history has one level; most sizes are constant.
  if (values.every((value) => value === at(values, 0))) return [];
  const found: LastingChange[] = [];
  const looks = new Map<number, CutHistory>();
  /** The levels of the first `to` measured sweeps, limited to the window. */
  const lookAt = (to: number): CutHistory => {
    const known = looks.get(to);
    if (known !== undefined) return known;
    const from = Math.max(0, to - ALERTING.windowNights);
    const clock = history.clock?.slice(from, to);
    const look = cutHistory({ nights: nights.slice(from, to), values: values.subarray(from, to), clock });
    looks.set(to, look);
    return look;
  };
  for (const [index, knownAt] of nights.entries()) {
    if (knownAt < since || index + 1 < ALERTING.firstNight) continue;
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

/** Whether two change points are so close that they are one change. */
export function isSame(a: Pick<ChangePoint, 'night'>, b: Pick<ChangePoint, 'night'>): boolean {
  return Math.abs(a.night - b.night) <= ALERTING.sameNights;
}

/**
 * Whether consecutive looks show the change: two for a young change; for an older one, six or all that can show its
 * level. If the cell visited that level before, it must stay there for at least as long again.
 */
function isLasting(change: ChangePoint, sweeps: number, lookAt: (sweeps: number) => CutHistory): boolean {
  const { before, index, night, shift } = change;
  const { logs, sigma } = lookAt(sweeps);
  const age = logs.length - index;
  const tolerance = Math.max(HISTORY.similarShare * Math.abs(shift), sigma);
  // A stay of a single sweep is an outlier.
  const stays = staysIn(logs, 0, index, (log) => Math.abs(log - before - shift) <= tolerance).filter(
    (stay) => stay > 1 && stay <= HISTORY.stateSweeps,
  );
  if (stays.length > 0 && age < Math.max(ALERTING.visitedAge, ...stays)) return false;
  const isFresh = age <= ALERTING.freshNights;
  const looks = isFresh ? ALERTING.looks : Math.min(ALERTING.oldLooks, age - HISTORY.leastLevel + 1);
  return Array.from({ length: looks - 1 }, (_, past) => lookAt(sweeps - 1 - past)).every(({ changes }) =>
    changes.some((other) => Math.abs(other.night - night) <= ALERTING.moveSweeps),
  );
}
