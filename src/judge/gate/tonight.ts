import { type ChangePoint, findChangePoints } from '../history/change-points.ts';
import { type Memory, NOTHING_TOLD, tellNight, untilNight } from '../history/nightly-alerts.ts';
import type { NightlyValues } from '../history/noise.ts';
import { TELLING } from '../history/settings.ts';

export interface Tonight {
  /** Every change that the history shows, told or not. */
  readonly changes: readonly ChangePoint[];
  /** Those to be told tonight. */
  readonly news: readonly ChangePoint[];
}

/**
 * What the newest night of a history says. How often a place was seen before follows from the nights themselves, so
 * that nothing but the told places has to be remembered.
 * @param toldNights places of changes that were told on earlier nights
 */
export function judgeTonight(history: NightlyValues, toldNights: readonly number[]): Tonight {
  const nights = history.values.length;
  let memory: Memory = { ...NOTHING_TOLD, told: toldNights };
  let changes: readonly ChangePoint[] = [];
  let news: readonly ChangePoint[] = [];
  const first = Math.max(TELLING.firstNight, nights - TELLING.oldLooks + 1);
  for (let night = first; night <= nights; night += 1) {
    const past = untilNight(history, night);
    changes = findChangePoints(past);
    const told = tellNight(memory, changes, past.values.length);
    memory = { told: toldNights, seen: told.memory.seen };
    news = told.news;
  }
  return { changes, news };
}
