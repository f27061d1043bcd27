/** Runs beyond those of the plan, as they were asked for: kept with the plan, so that `--resume` goes on with them. */
export interface MoreRunsWanted {
  /** Until a change of so many percent would be seen in each cell, or is; null: not asked for. */
  readonly untilSurePercent: number | null;
  /** Longest time for the whole sweep, in seconds; null: none. */
  readonly budgetS: number | null;
  /** Run the cells again whose night lies off their history. */
  readonly confirm: boolean;
  /** Runs of a cell, at most. */
  readonly maxRepeats: number;
  /** Sweeps to compare with, the newest first. */
  readonly baseSweepIds: readonly string[];
  /** Whether their runs count together, or of each cell those of the newest one that has it. */
  readonly baseIs: 'together' | 'newestOfCell';
}
