import { type ChangePoint, findChangePoints } from './change-points.ts';
import type { NightlyValues } from './noise.ts';
import { ALERTING } from './settings.ts';

/** What the gate remembers of a history. */
export interface Memory {
  /** Places that were reported already. */
  readonly reported: readonly number[];
  /** Places seen in the last sweep, with the number of consecutive sweeps. */
  readonly seen: readonly { readonly night: number; readonly looks: number }[];
}

export const NO_ALERTS: Memory = { reported: [], seen: [] };

/**
 * One night of the gate. A clear new change is reported at once, a weaker one on the second night running, and a place that
 * is old already only when it stays: a verdict about the past that flips back is a state, not news.
 * @param changes as the history shows them in the newest sweep
 * @param nights that the changes were found in, the newest sweep's included
 */
export function updateAlerts(
  memory: Memory,
  changes: readonly ChangePoint[],
  nights: number,
): { readonly memory: Memory; readonly news: readonly ChangePoint[] } {
  const reported = [...memory.reported];
  const seen: { night: number; looks: number }[] = [];
  const news: ChangePoint[] = [];
  for (const change of changes) {
    const margin = change.margin / (1 + ALERTING.shortNights / nights);
    if (margin < 1) continue;
    const before = memory.seen
      .filter(({ night }) => Math.abs(night - change.night) <= ALERTING.moveNights)
      .map(({ looks }) => looks);
    const looks = 1 + Math.max(0, ...before);
    seen.push({ night: change.night, looks });
    if (reported.some((night) => Math.abs(night - change.night) <= ALERTING.sameNights)) continue;
    const age = nights - change.index;
    const isFresh = age <= ALERTING.freshNights;
    const isClear = margin >= ALERTING.atOnce || looks >= ALERTING.looks;
    if (looks < ALERTING.oldLooks && !(isFresh && isClear)) continue;
    reported.push(change.night);
    news.push(change);
  }
  return { memory: { reported, seen }, news };
}

/** The whole history as the gate would have lived through it: changes, and the night on which each was reported. */
export function replayNights(history: NightlyValues) {
  const alerts: { readonly reportedOn: number; readonly change: ChangePoint }[] = [];
  let memory = NO_ALERTS;
  for (let nights = ALERTING.firstNight; nights <= history.values.length; nights += 1) {
    const past = untilNight(history, nights);
    const reported = updateAlerts(memory, findChangePoints(past), past.values.length);
    memory = reported.memory;
    const reportedOn = history.nights[nights - 1] ?? nights - 1;
    alerts.push(...reported.news.map((change) => ({ reportedOn, change })));
  }
  return alerts;
}

/**
 * The past up to a sweep, limited to the window.
 * @param nights measured ones
 */
export function untilNight(history: NightlyValues, nights: number): NightlyValues {
  const from = Math.max(0, nights - ALERTING.windowNights);
  return {
    nights: history.nights.slice(from, nights),
    values: history.values.subarray(from, nights),
    spread: history.spread?.slice(from, nights),
    count: history.count?.slice(from, nights),
    clock: history.clock?.slice(from, nights),
  };
}
