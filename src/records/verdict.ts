export const VERDICTS = ['slower', 'faster', 'same', 'unclear', 'missing', 'failed', 'incomparable'] as const;

export type Verdict = (typeof VERDICTS)[number];

/** Where the run-to-run noise of a cell comes from. */
export const NOISE_SOURCES = ['runs', 'runsAndNights', 'nights', 'otherCells', 'assumed'] as const;

export type NoiseSource = (typeof NOISE_SOURCES)[number];

/** How far single runs of a cell scatter, and what says it. */
export interface CellNoise {
  readonly from: NoiseSource;
  /** Standard deviation of a run, in percent. */
  readonly runPercent: number;
  /** What two nights differ by beyond their runs, as all cells show it: standard deviation of a difference, in percent. */
  readonly nightPercent: number;
  /** Earlier nights of the cell that count, and those that were left out as outliers. */
  readonly nights: number;
  readonly nightsLeftOut: number;
}

/** What the runs of two sides say of one cell. Numbers are null where no run gave them. */
export interface CellComparison {
  readonly cellKey: string;
  readonly verdict: Verdict;
  /** Centres over the runs of each side, in the unit of the metric. */
  readonly base: number | null;
  readonly head: number | null;
  /** Change of the value as it is: +16 is 16 % more milliseconds, or 16 % more queries a second. */
  readonly changePercent: number | null;
  /** 95 % interval of the change. */
  readonly ciPercent: readonly [number, number] | null;
  /** The smallest change that would have been seen, nine times of ten. */
  readonly mdePercent: number | null;
  readonly runs: readonly [number, number];
  /** More runs a side that would settle an unclear cell; null when nothing is unclear, or no number of runs would. */
  readonly moreRunsNeeded: number | null;
  /** Null where nothing was compared. */
  readonly noise: CellNoise | null;
  readonly reasons: readonly string[];
}

/** A change that at least four of five cells share: clocks, driver, or another common cause. */
export interface CommonShift {
  /** Of the value; where cells of both directions are compared, of those for which less is better. */
  readonly percent: number;
  /** Cells that were compared, and those of them that share it. */
  readonly cells: number;
  readonly sharing: number;
  /** Null for a shift too small to be called. */
  readonly verdict: 'slower' | 'faster' | null;
  /** What of clocks, power, heat, driver and machine is recorded to be another in the cells that share it. */
  readonly recorded: readonly string[];
}
