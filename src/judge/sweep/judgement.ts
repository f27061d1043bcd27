import type { NightEffect } from './night-effect.ts';

/** Log ratio, its standard error, and half of its 95 % interval. */
export interface Change {
  readonly log: number;
  readonly error: number;
  readonly reach: number;
}

/** A change of a cell that is reported for the first time. */
export interface Reported {
  readonly direction: 'slower' | 'faster';
  readonly first: number;
  readonly change: Change;
}

/** Judgment of a cell. Logs are of times, so that above 0 is slower. */
export interface CellJudgement {
  readonly verdict: 'slower' | 'faster' | 'same' | 'unclear';
  /** The last accepted level, and the number of sweeps in its mean. */
  readonly reference: { readonly log: number; readonly sweeps: number };
  /** Index of the first sweep off the reference; the current sweep if nothing was reported since. */
  readonly since: number;
  /** Change from the reference: of the recent level if it is a different one, else of the newest sweep. */
  readonly change: Change;
  readonly reported: Reported | null;
  /** Log ratio of the smallest change that the runs of the newest sweep would report nine times in ten. */
  readonly detectable: number;
  /** Two levels between which the cell alternates, the lower one first. */
  readonly levels: readonly [number, number] | null;
  /** True if the only run of this sweep is far off; a single such run is not a level yet. */
  readonly isOnlyRunFarOff: boolean;
}

/** Decisions of people and pairs on a cell, before or in this sweep. */
export interface Control {
  /** The previous level becomes the reference: it was acknowledged, or is that of the merge base. */
  readonly accept?: boolean;
  /** The sweep is judged but belongs to no level: the machine was slow, or pairs showed no change. */
  readonly exclude?: boolean;
  /** Runs of a baseline, whose level is the reference of this sweep. */
  readonly reference?: readonly number[];
}

/** One sweep of one cell, with facts from all cells of the matrix. */
export interface CellSweep {
  readonly place: number;
  /** Log of its center without the common effect. */
  readonly log: number;
  /** Its number of runs; `extra` is the variance in addition to that of a sweep with all repeats. */
  readonly runs: number;
  readonly extra: number;
  readonly night: NightEffect;
  /** Ratio of the tail probabilities in this matrix to those of the settings. */
  readonly share: number;
  /** Size of the move if the cell moved together with others; null if it did not. */
  readonly moved: number | null;
}
