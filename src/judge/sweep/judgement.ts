import type { NightEffect } from './night-effect.ts';

/** Log ratio, its standard error, and half of its interval of 95 %. */
export interface Change {
  readonly log: number;
  readonly error: number;
  readonly reach: number;
}

/** What is reported of a cell for the first time. */
export interface Reported {
  readonly direction: 'slower' | 'faster';
  readonly first: number;
  readonly change: Change;
}

/** Logs of times: above 0 is slower. */
export interface CellJudgement {
  readonly verdict: 'slower' | 'faster' | 'same' | 'unclear';
  /** What was last accepted, and the number of sweeps that it is the mean of. */
  readonly reference: { readonly log: number; readonly sweeps: number };
  /** Place of the first sweep off the reference; of this one where nothing was reported since. */
  readonly since: number;
  /** To the reference: of the recent level where it is another one, else of the newest sweep. */
  readonly change: Change;
  readonly reported: Reported | null;
  /** Log ratio of the smallest change that the newest sweep's runs would report nine times in ten. */
  readonly detectable: number;
  /** Two levels that the cell goes to and fro between, the lower one first. */
  readonly levels: readonly [number, number] | null;
  /** Far off in the only run of this sweep: one run further off is no level yet. */
  readonly isOnlyRunFarOff: boolean;
}

/** What people and pairs said of a cell before this sweep is judged, or of this sweep. */
export interface Control {
  /** The level until now becomes the reference: it was acknowledged, or is that of the merge base. */
  readonly accept?: boolean;
  /** This sweep is judged and part of no level: the machine was slow, or pairs showed no change. */
  readonly exclude?: boolean;
  /** Runs of a baseline: their level is the reference of this sweep. */
  readonly reference?: readonly number[];
}

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
  /** The cell moved together with others, by about so much; null where it did not. */
  readonly moved: number | null;
}
