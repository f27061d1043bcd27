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
 * are judged by the differences of neighboring sweeps, cells with neither by the typical cell.
 * @param cells values of the runs that count, above 0, by sweep in order
 */
export function runSigmas<Key>(cells: ReadonlyMap<Key, readonly (readonly number[])[]>): (key: Key) => number {
  const own = new Map([...cells].map(([key, sweeps]) => [key, ownSigma(sweeps)]));
  const typical = median([...own.values()].flatMap((sigma) => sigma ?? [])) ?? ASSUMED_SIGMA;
  return (key) => Math.max(LEAST_SIGMA, own.get(key) ?? typical);
}

function ownSigma(sweeps: readonly (readonly number[])[]): number | null {
  const logs = sweeps.map((values) => values.map(Math.log));
  const within = logs.flatMap((values) =>
    values.flatMap((value, place) => values.slice(place + 1).map((other) => Math.abs(value - other))),
  );
  if (within.length >= LEAST_DIFFERENCES) return scaleOfAll(within);
  const centres = logs.flatMap((values) => median(values) ?? []);
  const between = centres.slice(1).map((value, place) => Math.abs(value - (centres[place] ?? value)));
  return between.length >= LEAST_DIFFERENCES ? scaleOfAll(between) : null;
}

function scaleOfAll(differences: readonly number[]): number {
  const scratch = Float64Array.from(differences);
  return Math.max(scaleOf(scratch, 0.5), scaleOf(scratch, 0.75));
}
