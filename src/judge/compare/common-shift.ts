import { median } from '../../statistics/median.ts';

const SHIFT = {
  /** Fewer cells share nothing. */
  leastCells: 10,
  /** Believed from this many of its own errors on, */
  errors: 3,
  /** where such a share of the cells */
  share: 0.8,
  /** lies within this many of their errors of it. */
  nearErrors: 2.5,
} as const;

interface Change {
  readonly difference: number;
  readonly error: number;
}

/**
 * The change, in logarithms, that nearly all cells share; null where there is none. A change in half of the cells is
 * none:
 * taken for one, it would make the other half look changed.
 */
export function commonShift(changes: readonly Change[]): number | null {
  if (changes.length < SHIFT.leastCells) return null;
  const shift = median(changes.map(({ difference }) => difference)) ?? 0;
  const typicalError = median(changes.map(({ error }) => error)) ?? 0;
  // 1.2533 is the error of a median over that of a mean, for normal values.
  const error = (1.2533 * typicalError) / Math.sqrt(changes.length);
  if (Math.abs(shift) <= SHIFT.errors * error) return null;
  const sharing = changes.filter((change) => sharesShift(change, shift)).length;
  return sharing >= SHIFT.share * changes.length ? shift : null;
}

/** Near the shift, and nearer to it than to no change: a noisy cell that did not change is near to anything. */
export function sharesShift(change: Change, shift: number): boolean {
  const isNearer = Math.abs(change.difference - shift) < Math.abs(change.difference);
  return isNearer && isNearShift(change, shift);
}

export function isNearShift({ difference, error }: Change, shift: number): boolean {
  return Math.abs(difference - shift) <= SHIFT.nearErrors * error;
}
