import { at } from '../../statistics/at.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import { medianIn } from '../../statistics/order-statistics.ts';
import { departureOf } from './departures.ts';
import { type Look, lookAt } from './looks.ts';
import type { NightlyValues } from './noise.ts';
import { ALERTING, HISTORY, SUSPECTS } from './settings.ts';

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
  /** That it is a change that lasts, from the number of sweeps; null in a cell that left its level before. */
  readonly probability: number | null;
}

/**
 * How far the newest sweep lies off the level before it, in standard deviations of a sweep: an outlier, or the start of a
 * change, and only more runs say which. Null within 3 deviations, or when there are too few sweeps to say.
 */
export function newestDeviations(history: NightlyValues): number | null {
  const past = history.values.length - 1;
  if (past < HISTORY.leastNights) return null;
  const { logs, offset } = lookAt(history, past + 1);
  const { levels, sigma } = lookAt(history, past);
  const center = medianIn(logs, Math.max(0, (levels.at(-1)?.from ?? 0) - offset), past - offset);
  const off = Math.abs(at(logs, past - offset) - center);
  return off > Math.max(SUSPECTS.leastDeviations * sigma, HISTORY.leastChange) ? off / sigma : null;
}

/**
 * Null when the newest sweep is where others were before, or when what it shows is reported.
 * @param reported places of changes, as in `nights`
 */
export function suspicionOf(
  { nights }: NightlyValues,
  newest: Look,
  reported: readonly number[],
  lookOf: (sweeps: number) => Look,
): Suspicion | null {
  for (let sweeps = HISTORY.leastLevel; sweeps >= 1; sweeps -= 1) {
    const past = newest.sweeps - sweeps;
    // A state that it was in before is no news; and most sweeps are distinguished by that alone.
    if (past < ALERTING.firstNight || !isBeyondAll(newest.logs, sweeps)) continue;
    const firstNight = nights[past] ?? past;
    if (reported.some((place) => Math.abs(place - firstNight) <= ALERTING.sameNights)) return null;
    const departure = departureOf(newest, lookOf(past), sweeps);
    if (departure === null || departure.deviations < SUSPECTS.farDeviations) continue;
    const { before, shift, deviations, excursions } = departure;
    const probability = excursions > 0 ? null : (SUSPECTS.probabilities[sweeps - 1] ?? null);
    const [from, now] = [Math.exp(before), Math.exp(before + shift)];
    return { sweeps, firstNight, before: from, now, changePercent: percentOfLog(shift), deviations, probability };
  }
  return null;
}

/** @param count of the newest sweeps */
function isBeyondAll(logs: Float64Array, count: number): boolean {
  const past = logs.subarray(0, logs.length - count);
  const newest = logs.subarray(logs.length - count);
  return Math.min(...newest) > Math.max(...past) || Math.max(...newest) < Math.min(...past);
}
