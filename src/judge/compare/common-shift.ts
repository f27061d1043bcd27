import { median } from '../../statistics/median.ts';

const SHIFT = {
  /** With fewer cells there is no common shift. */
  leastCells: 10,
  /** Believed from this many of its own errors on, */
  errors: 3,
  /** Share of cells that must be near it. */
  share: 0.8,
  /** lies within this many of their errors of it, */
  nearErrors: 2.5,
  /** and the mean square of those is not above this, in squares of errors: two groups lie on both sides of a median. */
  meanSquare: 1.4,
} as const;

interface Change {
  readonly difference: number;
  readonly error: number;
}

/** A change that cells share and its standard error, log scale; above 0 where head is worse. */
export interface Shift {
  readonly size: number;
  readonly error: number;
}

/**
 * The change that nearly all cells share; null where there is none. A change of half the cells does not count: the
 * other half would look changed.
 */
export function commonShift(changes: readonly Change[]): Shift | null {
  if (changes.length < SHIFT.leastCells) return null;
  const size = median(changes.map(({ difference }) => difference)) ?? 0;
  const typicalError = median(changes.map(({ error }) => error)) ?? 0;
  // 1.2533: error of a median relative to a mean, for normal values.
  const error = (1.2533 * typicalError) / Math.sqrt(changes.length);
  const near = changes.map((change) => errorsOff(change, size)).filter((errors) => errors <= SHIFT.nearErrors);
  const squares = near.reduce((sum, errors) => sum + errors ** 2, 0);
  const isShared = near.length >= SHIFT.share * changes.length && squares <= SHIFT.meanSquare * near.length;
  return isShared && Math.abs(size) > SHIFT.errors * error ? { size, error } : null;
}

export function sharesShift(change: Change, { size }: Shift): boolean {
  return errorsOff(change, size) <= SHIFT.nearErrors;
}

function errorsOff({ difference, error }: Change, size: number): number {
  return Math.abs(difference - size) / error;
}
