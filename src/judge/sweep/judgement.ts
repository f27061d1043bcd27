/** A level: the log of a time. */
export interface LevelEstimate {
  readonly log: number;
  /** Standard error of `log`. */
  readonly error: number;
  /** Sweeps that it is the mean of. */
  readonly sweeps: number;
  /** Place of its first sweep, 0-based. */
  readonly first: number;
}

/** What is reported of a cell for the first time. */
export interface Reported {
  readonly direction: 'slower' | 'faster';
  /** Place of the sweep in which the change began. */
  readonly first: number;
  /** Log ratio to the level before. */
  readonly change: number;
  readonly error: number;
  /** The word that the cells with this change share, "all", or null where the cell changed alone. */
  readonly group: string | null;
  readonly kind: 'cell' | 'group' | 'shift' | 'creep';
}

export interface CellJudgement {
  readonly verdict: 'slower' | 'faster' | 'same' | 'unclear';
  /** What was last accepted. */
  readonly reference: LevelEstimate;
  /** Where the cell is now; the same as the reference where nothing happened. */
  readonly level: LevelEstimate;
  /** Log ratio to the reference: of the recent level where it is another one, else of the newest sweep. */
  readonly change: { readonly log: number; readonly error: number };
  readonly reported: Reported | null;
  /** Log ratio of the smallest change that the newest sweep's runs would report nine times in ten. */
  readonly detectable: number;
  /** Two levels that the cell goes to and fro between. */
  readonly levels: { readonly lower: number; readonly upper: number; readonly at: 'lower' | 'upper' } | null;
  /** Far off in the only run of this sweep: one run further off is no level yet. */
  readonly isOnlyRunFarOff: boolean;
}

/** What people and pairs said of a cell before this sweep is judged, or of this sweep. */
export interface Control {
  /** The level until now becomes the reference: acknowledged, or set as the baseline. */
  readonly accept?: boolean;
  /** The reference from now on: an acknowledgement ended, or the runs of a baseline. */
  readonly reference?: Pick<LevelEstimate, 'log' | 'sweeps'> | { readonly runs: readonly number[] };
  /** This sweep is judged and part of no level: the machine was slow, or pairs showed no change. */
  readonly exclude?: boolean;
  /** Pairs confirmed the faster level of this sweep: it is the reference from now on. */
  readonly confirmed?: boolean;
}

export type Controls = readonly (Control | null | undefined)[];

/** The values of one cell in one sweep, null where it has no result. */
export type SweepRuns = readonly number[] | null;
