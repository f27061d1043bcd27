import { at } from '../../statistics/at.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import { medianIn } from '../../statistics/order-statistics.ts';
import { departureOf, isBeyond } from './departures.ts';
import type { Look } from './looks.ts';
import type { NightlyValues } from './noise.ts';
import { ALERTING, EARLY, HISTORY, SUSPECTS } from './settings.ts';

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
 * change, and only more runs say which. Null within 3 deviations.
 * A level of a few sweeps is what lies off, not what it lies off.
 */
export function deviationsIn({ levels, logs, offset, sigma, sweeps }: Look): number | null {
  const level = levels.findLast(({ from }) => sweeps - from > EARLY.youngSweeps) ?? levels.at(-1);
  if (level === undefined) return null;
  const to = Math.min(level.to, sweeps - 1) - offset;
  const center = medianIn(logs, Math.max(0, level.from - offset), to);
  const off = Math.abs(at(logs, logs.length - 1) - center);
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
    if (past < ALERTING.firstNight || !isBeyond(newest, sweeps)) continue;
    const firstNight = nights[past] ?? past;
    if (reported.some((place) => Math.abs(place - firstNight) <= ALERTING.sameNights)) return null;
    const departure = departureOf(newest, lookOf(past), sweeps);
    if (departure === null || departure.deviations < SUSPECTS.farDeviations) continue;
    const { before, shift, deviations, visits } = departure;
    const probability = visits > 0 ? null : (SUSPECTS.probabilities[sweeps - 1] ?? null);
    const [from, now] = [Math.exp(before), Math.exp(before + shift)];
    return { sweeps, firstNight, before: from, now, changePercent: percentOfLog(shift), deviations, probability };
  }
  return null;
}
