import { newestLevel } from '../history/change-points.ts';
import { untilNight } from '../history/nightly-alerts.ts';
import { logsOf, type NightlyValues, noiseFloor, noiseOf } from '../history/noise.ts';
import { medianIn } from '../history/order-statistics.ts';
import { HISTORY } from '../history/settings.ts';

/** A night so far off its level is worth a second look before anyone is alarmed. */
const SUSPECT_DEVIATIONS = 3;

/**
 * True when the last night of a history lies off the level before it, in either direction: an outlier, or the first
 * night of something new. Which of the two, only more runs tell.
 */
export function isSuspect(history: NightlyValues): boolean {
  const nights = history.values.length - 1;
  if (nights < HISTORY.leastNights) return false;
  const past = untilNight(history, nights);
  const level = Float64Array.from(newestLevel(past), Math.log);
  const { sigma } = noiseOf(logsOf(past), noiseFloor(past));
  const off = Math.abs(
    Math.log(history.values[nights] ?? Number.NaN) - medianIn(level, 0, level.length),
  );
  return off > Math.max(SUSPECT_DEVIATIONS * sigma, HISTORY.leastChange);
}
