import { scaleOf } from '../../statistics/order-statistics.ts';
import { median } from '../../statistics/median.ts';
import { ASSUMED_SIGMA } from '../run-noise.ts';

/** A deviation from fewer differences than these is no estimate. */
const LEAST_DIFFERENCES = 10;
/** Equal values still differ by the resolution of the timer. */
const LEAST_SIGMA = 1e-4;

/**
 * Standard deviation of a single run of each cell, log scale: from the differences of runs within a sweep, of which a
 * quarter may be disturbed; in a cell with two states the larger quantile is their distance. Cells with one run a sweep
 * are judged by the differences of neighboring sweeps, cells with neither by the typical cell, and where all are young by
 * the runs of all of them together; where these, too, are few, with the runs of the pairs.
 * @param cells values of the runs that count, above 0, by sweep in order
 * @param pairs such values of either engine
 */
export function runSigmas<Key>(
  cells: ReadonlyMap<Key, readonly (readonly number[])[]>,
  pairs: readonly (readonly number[])[] = [],
): (key: Key) => number {
  const own = new Map([...cells].map(([key, sweeps]) => [key, ownSigma(sweeps)]));
  const known = median([...own.values()].flatMap((sigma) => sigma ?? []));
  const ofSweeps = [...cells.values()].flatMap((sweeps) => withinSweeps(sweeps));
  const all = ofSweeps.length >= LEAST_DIFFERENCES ? ofSweeps : [...ofSweeps, ...withinSweeps(pairs)];
  const typical = known ?? (all.length >= LEAST_DIFFERENCES ? scaleOfAll(all) : ASSUMED_SIGMA);
  return (key) => Math.max(LEAST_SIGMA, own.get(key) ?? typical);
}

function ownSigma(sweeps: readonly (readonly number[])[]): number | null {
  const within = withinSweeps(sweeps);
  if (within.length >= LEAST_DIFFERENCES) return scaleOfAll(within);
  const centres = sweeps.flatMap((values) => median(values.map(Math.log)) ?? []);
  const between = centres.slice(1).map((value, place) => Math.abs(value - (centres[place] ?? value)));
  return between.length >= LEAST_DIFFERENCES ? scaleOfAll(between) : null;
}

/** Of each two runs of one sweep. */
function withinSweeps(sweeps: readonly (readonly number[])[]): number[] {
  return sweeps.flatMap((values) =>
    values.flatMap((value, place) => values.slice(place + 1).map((other) => Math.abs(Math.log(value / other)))),
  );
}

function scaleOfAll(differences: readonly number[]): number {
  const scratch = Float64Array.from(differences);
  return Math.max(scaleOf(scratch, 0.5), scaleOf(scratch, 0.75));
}
