import type { CellKey } from '../records/scalars.ts';
import { median, quantileSorted } from '../statistics/order-statistics.ts';
import { momentsOf, tQuantile } from '../statistics/special-functions.ts';
import { type Change, twoGroups } from '../statistics/two-groups.ts';

const BETWEEN_SWEEPS = {
  /** Least number of cells whose differences show the noise between two sweeps. */
  leastCells: 20,
  /** Least number of them that must remain without those that changed. */
  leastUnchanged: 8,
  /** Cells reported as changed are left out, unless they exceed this share. */
  changedShare: 0.25,
  /** A mean difference of this many standard errors: either cells changed, or the sweeps differ for all. */
  oneWayErrors: 3,
  /** Cells changed if two groups are likelier than one by this log likelihood. */
  leastGain: 1,
  /** Least number of cells with a history that show the noise between their sweeps. */
  leastWithPast: 5,
  /** Each cell is compared with this many others; all pairs of a large matrix would add nothing. */
  mostPartners: 40,
  /** Upper bound on the log scale; cells that differ by more have changed. */
  mostError: 0.01,
} as const;

/**
 * Variance of the sweep effect, which no number of runs reduces: the spread of the cells' differences beyond that of
 * the runs (empirical null: Efron 2004). It is estimated from the nearest quarter of all pairs of cells (scale Qn:
 * Rousseeuw and Croux 1993), which excludes a shared shift.
 */
export function varianceBetweenSweeps(
  cells: readonly (Change & { readonly cellKey: CellKey; readonly degrees: number })[],
  called: ReadonlySet<string>,
): number {
  const { changedShare, leastCells, leastGain, leastUnchanged, mostPartners, oneWayErrors } = BETWEEN_SWEEPS;
  const count = cells.length;
  if (count < leastCells) return 0;
  const rest = cells.filter(({ cellKey }) => !called.has(cellKey));
  const areChanges = count - rest.length <= changedShare * count && rest.length >= leastUnchanged;
  // Sorts by the key, which is a hash, so that partners are random and independent of the order of cells.
  const drawn = (areChanges ? rest : cells).toSorted((a, b) => (a.cellKey < b.cellKey ? -1 : 1));
  const degrees = median(drawn.map((cell) => cell.degrees)) ?? 1;
  const nearest = tQuantile(0.75, 2 * degrees);
  const needed = drawn.flatMap((a, place) =>
    drawn.slice(place + 1, place + 1 + mostPartners).map((b) => {
      // With this added variance, the pair would be as close as a quarter of all pairs.
      const explained = a.error ** 2 + b.error ** 2;
      return (((a.difference - b.difference) / nearest) ** 2 - explained) / 2;
    }),
  );
  const sorted = needed.toSorted((a, b) => a - b);
  const variance = quantileSorted(sorted, 0.25);
  const { mean, squares } = momentsOf(cells.map(({ difference }) => difference));
  const isOneWay = Math.abs(mean) > oneWayErrors * Math.sqrt(squares / (count - 1) / count);
  const groups = isOneWay ? twoGroups(cells) : null;
  return limited(groups !== null && groups.gain >= leastGain ? Math.min(variance, groups.variance) : variance);
}

/** Sweep effect from the excess variances of cells with a history. */
export function pastVarianceBetweenSweeps(excesses: readonly number[]): number {
  return excesses.length < BETWEEN_SWEEPS.leastWithPast ? 0 : limited(median(excesses) ?? 0);
}

function limited(variance: number): number {
  return Math.min(Math.max(0, variance), BETWEEN_SWEEPS.mostError ** 2);
}

const SHIFT = {
  /** With fewer cells there is no common shift. */
  leastCells: 10,
  /** Least size of the shift in its standard errors. */
  errors: 3,
  /** Share of cells that must be close to it. */
  share: 0.8,
  /** A cell is close to the shift within this many of its standard errors. */
  nearErrors: 2.5,
  /** Largest mean square of the close cells, in squared errors; two groups on both sides of a median exceed it. */
  meanSquare: 1.4,
} as const;

export function commonShift(changes: readonly Change[]) {
  if (changes.length < SHIFT.leastCells) return null;
  const size = median(changes.map(({ difference }) => difference)) ?? 0;
  const typicalError = median(changes.map((change) => change.error)) ?? 0;
  // 1.2533: ratio of the error of a median to that of a mean, for normal values.
  const error = (1.2533 * typicalError) / Math.sqrt(changes.length);
  const errorsOff = (change: Change): number => Math.abs(change.difference - size) / change.error;
  const isNear = (change: Change): boolean => errorsOff(change) <= SHIFT.nearErrors;
  const near = changes.filter(isNear);
  const squares = near.reduce((sum, change) => sum + errorsOff(change) ** 2, 0);
  const isShared = near.length >= SHIFT.share * changes.length && squares <= SHIFT.meanSquare * near.length;
  return isShared && Math.abs(size) > SHIFT.errors * error ? { size, error, isNear } : null;
}
