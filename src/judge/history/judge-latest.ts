import { at } from '../../statistics/at.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import { medianIn, middleOf } from '../../statistics/order-statistics.ts';
import { type ChangePoint, type CutHistory, cutHistory } from './change-points.ts';
import { isSame, type LastingChange, lastingChanges } from './lasting-changes.ts';
import type { CellHistory } from './noise.ts';
import { ALERTING, HISTORY, SUSPECTS } from './settings.ts';

// For `judge/gate` alone, and deleted with it.

/** The newest sweeps lie far off their level, and are too few to be a level of their own. */
export interface Suspicion {
  /** How many sweeps running, the newest included. */
  readonly sweeps: number;
  /** First of them, as in `nights`. */
  readonly firstNight: number;
  /** The level before and the median of these sweeps, in the unit of the metric. */
  readonly before: number;
  readonly now: number;
  readonly changePercent: number;
  /** The least of their distances from the level, in standard deviations of a sweep. */
  readonly deviations: number;
}

export interface LatestJudgement {
  /** Every change of level that the history shows, reported or not. */
  readonly changes: readonly ChangePoint[];
  /** Those to be reported in the newest sweep. */
  readonly news: readonly LastingChange[];
  /** Null when the newest sweeps do not lie far off, or what they show is reported. */
  readonly suspected: Suspicion | null;
  /** How far the newest sweep lies off its level, in standard deviations; null within 3, and in too few sweeps. */
  readonly deviations: number | null;
}

/**
 * What the newest sweep of a history says. A sweep known to be the machine's is to be left out of the history.
 * @param history no longer than the window
 * @param reported first sweeps (as in `nights`) of the changes that were reported in earlier sweeps
 */
export function judgeLatest(history: CellHistory, reported: readonly number[]): LatestJudgement {
  const { nights, values } = history;
  if (values.length < HISTORY.leastNights) return { changes: [], news: [], suspected: null, deviations: null };
  const places = reported.map((night) => ({ night }));
  const newest = cutHistory(history);
  return {
    changes: newest.changes,
    news: lastingChanges(history, nights.at(-1)).filter((change) => !places.some((place) => isSame(place, change))),
    suspected: suspicionOf(history, newest, places),
    deviations: values.length > HISTORY.leastNights ? deviationsIn(newest) : null,
  };
}

/** A level of a few sweeps is what lies off, not what it lies off. */
function deviationsIn({ levels, logs, sigma }: CutHistory): number | null {
  const level = levels.findLast(({ from }) => logs.length - from > SUSPECTS.levelSweeps) ?? levels.at(-1);
  if (level === undefined) return null;
  const center = medianIn(logs, level.from, Math.min(level.to, logs.length - 1));
  const off = Math.abs(at(logs, logs.length - 1) - center);
  return off > Math.max(SUSPECTS.leastDeviations * sigma, HISTORY.leastChange) ? off / sigma : null;
}

function suspicionOf(
  history: CellHistory,
  { logs }: CutHistory,
  reported: readonly Pick<ChangePoint, 'night'>[],
): Suspicion | null {
  const { nights } = history;
  for (let sweeps = HISTORY.leastLevel; sweeps >= 1; sweeps -= 1) {
    const past = logs.length - sweeps;
    // A state that it was in before is no news; and most sweeps are distinguished by that alone.
    if (past < ALERTING.firstNight || !isBeyond(logs, past)) continue;
    const firstNight = nights[past] ?? past;
    if (reported.some((place) => isSame(place, { night: firstNight }))) return null;
    const departure = departureOf(history, logs, past);
    if (departure === null || departure.deviations < SUSPECTS.farDeviations) continue;
    const { before, shift, deviations } = departure;
    const [from, now] = [Math.exp(before), Math.exp(before + shift)];
    return { sweeps, firstNight, before: from, now, changePercent: percentOfLog(shift), deviations };
  }
  return null;
}

/** All sweeps from an index on lie above, or all below, those before them. */
function isBeyond(logs: Float64Array, index: number): boolean {
  const [past, since] = [logs.subarray(0, index), logs.subarray(index)];
  return Math.min(...since) > Math.max(...past) || Math.max(...since) < Math.min(...past);
}

/** The sweeps from an index on, against the level before them; null unless all lie well off it on one side. */
function departureOf(history: CellHistory, logs: Float64Array, index: number) {
  const past = { ...history, values: history.values.subarray(0, index), clock: history.clock?.slice(0, index) };
  const { levels, sigma } = cutHistory(past);
  const level = levels.at(-1);
  if (level === undefined || level.to - level.from < SUSPECTS.levelSweeps) return null;
  const before = medianIn(logs, level.from, index);
  const shifts = logs.slice(index).map((log) => log - before);
  const sign = Math.sign(at(shifts, 0));
  const least = Math.min(...shifts.map((shift) => shift * sign));
  if (least < Math.max(SUSPECTS.leastDeviations * sigma, HISTORY.leastChange)) return null;
  return { before, shift: middleOf(shifts), deviations: least / sigma };
}
