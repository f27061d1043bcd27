import type { Finding, JUDGED_BY } from '../../records/finding.ts';
import type { GatedMetricId } from '../../records/gated-metric.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';

export const CELL_VERDICTS = ['slower', 'faster', 'same', 'unclear', 'noResult'] as const;

export type CellVerdict = (typeof CELL_VERDICTS)[number];

/** Why a cell is not compared: its first sweep, not planned in this sweep, or no fit run. */
export const CELL_REASONS = ['new', 'missing', 'failed'] as const;

/** A metric of a cell in the judged sweep, compared with its reference level. */
export interface JudgedCell {
  readonly cellKey: CellKey;
  readonly verdict: CellVerdict;
  readonly reason: (typeof CELL_REASONS)[number] | null;
  readonly metric: GatedMetricId;
  /** Reference level and value of this sweep, in the unit of the metric. */
  readonly before: number | null;
  readonly now: number | null;
  /** Of the value against the reference, with the interval of 95 % of that estimate. */
  readonly changePercent: number | null;
  readonly ciPercent: readonly [number, number] | null;
  /** Smallest change that would be reported in this sweep nine times in ten. */
  readonly mdePercent: number | null;
  /** Two known levels, in the unit of the metric. */
  readonly levels: readonly [number, number] | null;
  readonly runs: number;
  readonly referenceSweeps: number;
  /** What else there is to say: why it has no value, or why it is unclear. */
  readonly notes: readonly string[];
}

/** What is worth pairs with the last good engine, as it lies off its reference on the worse side. */
export interface Candidate {
  readonly group: readonly string[];
  /** The cell, or the three calmest ones of the group. */
  readonly cellKeys: readonly CellKey[];
  readonly metric: GatedMetricId;
  readonly changePercent: number;
  readonly deviations: number;
  readonly lastGoodSweepId: SweepId | null;
  /** Cells with two known levels, or whose builds of the same sources differed: eight pairs, of which seven agree. */
  readonly isUnsteady: boolean;
}

export interface SweepVerdict {
  readonly judgedBy: (typeof JUDGED_BY)[number];
  /** Every known finding with its state after this sweep, and every new one: those whose `reportedSweepId` it is. */
  readonly findings: readonly Finding[];
  readonly endedAcknowledgements: readonly string[];
  /** By the metric that each cell is compared by, in the order of the evidence. */
  readonly cells: readonly JudgedCell[];
  readonly judged: (cellKey: CellKey, metric: GatedMetricId) => JudgedCell | null;
  /** Groups before cells; those further off first. */
  readonly candidates: readonly Candidate[];
}
