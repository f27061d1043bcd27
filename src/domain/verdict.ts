export const VERDICTS = [
  'slower',
  'faster',
  'same',
  'unclear',
  'missing',
  'failed',
  'incomparable',
] as const;

export type Verdict = (typeof VERDICTS)[number];

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
  readonly reasons: readonly string[];
}

/** A change that all cells share: clocks, driver, or another common cause. It is named once, and taken off each cell. */
export interface CommonShift {
  readonly percent: number;
  readonly cells: number;
}
