import type { NightEffect } from './night-effect.ts';

/** One sweep of one cell, as far as all cells of the matrix know it. */
export interface CellSweep {
  readonly place: number;
  /** Log of its center, the common effect taken off. */
  readonly log: number;
  /** Runs in it, and the variance that it has above a sweep of all repeats. */
  readonly runs: number;
  readonly extra: number;
  readonly night: NightEffect;
  /** Tail probabilities in this matrix over those of the settings. */
  readonly share: number;
  /** The cell moved together with others, by about so much. */
  readonly moved: { readonly word: string; readonly change: number; readonly kind: 'group' | 'shift' } | null;
}
