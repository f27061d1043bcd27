import { median } from '../../statistics/median.ts';
import { newestLevel } from '../history/change-points.ts';
import { untilNight } from '../history/nightly-alerts.ts';
import { logsOf, type NightlyValues, noiseFloor, noiseOf } from '../history/noise.ts';
import { medianIn } from '../../statistics/order-statistics.ts';
import { HISTORY, ALERTING } from '../history/settings.ts';

/** Distance from the level at which a sweep is suspected, in standard deviations. */
const SUSPECT_DEVIATIONS = 3;

/**
 * True when the newest sweep is off the level before it: an outlier, or the start of a change. Only more runs tell
 * which.
 */
export function isSuspect(history: NightlyValues): boolean {
  const nights = history.values.length - 1;
  if (nights < HISTORY.leastNights) return false;
  const { level, sigma } = levelOf(untilNight(history, nights));
  const off = Math.abs(Math.log(history.values[nights] ?? Number.NaN) - level);
  return off > Math.max(SUSPECT_DEVIATIONS * sigma, HISTORY.leastChange);
}

/** Exceeded by one in a hundred cells over a hundred quiet sweeps. */
const OFF_DEVIATIONS = 5;

/**
 * The newest nights of a cell, where they lie far off its level and are too few to be a level of their own: what a person
 * may want to see before the gate tells it. Null when the newest night is where others were before.
 * @returns how many nights running; the level before and the median of those nights, in the unit of the metric; and the
 * least of their distances from the level, in standard deviations of a night
 */
export function latestDeviation(history: NightlyValues) {
  const total = history.values.length;
  for (let nights = HISTORY.leastLevel; nights >= 1; nights -= 1) {
    if (total - nights < ALERTING.firstNight) continue;
    const past = untilNight(history, total - nights);
    const newest = history.values.subarray(total - nights);
    // A state that it was in before is no news; and most nights are distinguished by that alone.
    const isUp = Math.min(...newest) > Math.max(...past.values);
    if (!isUp && Math.max(...newest) >= Math.min(...past.values)) continue;
    const { level, sigma } = levelOf(past);
    const offs = Array.from(newest, (value) => Math.log(value) - level);
    const least = Math.min(...offs.map((off) => (isUp ? off : -off)));
    if (least < Math.max(OFF_DEVIATIONS * sigma, HISTORY.leastChange)) continue;
    const now = median([...newest]) ?? Number.NaN;
    const before = Math.exp(level);
    const changePercent = (now / before - 1) * 100;
    return { nights, before, now, changePercent, deviations: least / sigma };
  }
  return null;
}

/** Log of the level before, and the scatter of a sweep around it. */
function levelOf(past: NightlyValues): { readonly level: number; readonly sigma: number } {
  const newest = Float64Array.from(newestLevel(past), Math.log);
  const { sigma } = noiseOf(logsOf(past), noiseFloor(past));
  return { level: medianIn(newest, 0, newest.length), sigma };
}
