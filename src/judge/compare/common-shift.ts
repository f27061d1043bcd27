import { median } from '../../statistics/median.ts';

const SHIFT = {
  /** With fewer cells there is no common shift. */
  leastCells: 10,
  /** Believed from this many of its own errors on, */
  errors: 3,
  /** Share of cells that must be near it. */
  share: 0.8,
  /** lies within this many of their errors of it. */
  nearErrors: 2.5,
} as const;

interface Change {
  readonly difference: number;
  readonly error: number;
}

/**
 * The change that nearly all cells share, log scale; null where there is none. A change of half the cells does not
 * count: the other half would look changed.
 */
export function commonShift(changes: readonly Change[]): number | null {
  if (changes.length < SHIFT.leastCells) return null;
  const shift = median(changes.map(({ difference }) => difference)) ?? 0;
  const typicalError = median(changes.map(({ error }) => error)) ?? 0;
  // 1.2533: error of a median relative to a mean, for normal values.
  const error = (1.2533 * typicalError) / Math.sqrt(changes.length);
  if (Math.abs(shift) <= SHIFT.errors * error) return null;
  const sharing = changes.filter((change) => sharesShift(change, shift)).length;
  return sharing >= SHIFT.share * changes.length ? shift : null;
}

/** Near the shift and nearer to it than to no change: a noisy unchanged cell is near anything. */
export function sharesShift(change: Change, shift: number): boolean {
  const isNearer = Math.abs(change.difference - shift) < Math.abs(change.difference);
  return isNearer && isNearShift(change, shift);
}

export function isNearShift({ difference, error }: Change, shift: number): boolean {
  return Math.abs(difference - shift) <= SHIFT.nearErrors * error;
}
