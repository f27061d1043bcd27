import { differences, medianIn, scaleOf } from '../statistics/order-statistics.ts';

/** So many deviations off, and no less than this in logarithms, a night is an outlier. */
const OUTLIER = { deviations: 4, least: 0.003 } as const;
/** A level that a cell went to more often is one of its states, and part of its noise. */
const MOST_VISITS = 2;
/** So large a share of nights off is no exception any more. */
const MOST_SHARE = 0.25;

/**
 * The nights without those on which something went wrong once: lone wild nights, or a few of them in a row. Levels to
 * which a cell goes again and again stay, as they are how it scatters.
 * @param past one positive value a night, the oldest first
 */
export function settledNights(past: readonly number[]): number[] {
  const logs = Float64Array.from(past, Math.log);
  const centre = medianIn(logs, 0, logs.length);
  const apart = logs.map((value) => Math.abs(value - centre));
  const deviation = Math.max(1.4826 * medianIn(apart, 0, apart.length), scaleOf(differences(logs, 1), 0.5));
  const limit = Math.max(OUTLIER.least, OUTLIER.deviations * deviation);
  const isOff = Array.from(apart, (distance) => distance > limit);
  const off = isOff.filter(Boolean).length;
  const visits = isOff.filter((isNow, night) => isNow && isOff[night - 1] !== true).length;
  return visits > MOST_VISITS || off > MOST_SHARE * past.length
    ? [...past]
    : past.filter((_, night) => isOff[night] !== true);
}
