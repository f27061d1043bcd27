import type { Finding, JUDGED_BY } from '../../records/finding.ts';
import type { GatedMetricId } from '../../records/gated-metric.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';

export const CELL_STATUSES = ['steady', 'slower', 'faster', 'suspected', 'new', 'missing', 'failed'] as const;

export type CellStatus = (typeof CELL_STATUSES)[number];

/** A cell in the judged sweep, by its own metric. */
export interface JudgedCell {
  readonly cellKey: CellKey;
  readonly status: CellStatus;
  readonly metric: GatedMetricId;
  /** The level that is expected, and the value of this sweep, in the unit of the metric. */
  readonly before: number | null;
  readonly now: number | null;
  /** Of a finding that of its levels, else of this sweep's value. */
  readonly changePercent: number | null;
  /** Why it has no value. */
  readonly failures: readonly string[];
}

/** What is worth pairs with the last good engine, as it lies off its level on the worse side. */
export interface Candidate {
  /** Words that the cells share; empty for a single cell. */
  readonly group: readonly string[];
  /** The cell, or the three calmest ones of the group. */
  readonly cellKeys: readonly CellKey[];
  readonly metric: GatedMetricId;
  readonly changePercent: number;
  /** Distance from the level, in standard deviations. */
  readonly deviations: number;
  /** The newest sweep at the level before. */
  readonly lastGoodSweepId: SweepId | null;
  /** Cells with known states, or whose builds of the same sources differed: eight pairs, of which seven agree. */
  readonly isUnsteady: boolean;
}

export interface SweepVerdict {
  readonly judgedBy: (typeof JUDGED_BY)[number];
  /**
   * Every known finding with its state after this sweep, and every new one. Reported in this sweep: those whose
   * `reportedSweepId` it is. One that an earlier look at this sweep reported, and this one does not, is left out.
   */
  readonly findings: readonly Finding[];
  /** Findings that are acknowledged no longer: the time is over, or it got worse. */
  readonly endedAcknowledgements: readonly string[];
  /** In the order of the evidence. */
  readonly cells: readonly JudgedCell[];
  /** Groups before cells; those further off first. */
  readonly candidates: readonly Candidate[];
}
