import type { Finding, JUDGED_BY } from '../../records/finding.ts';
import type { GatedMetricId } from '../../records/gated-metric.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';

export const CELL_VERDICTS = ['slower', 'faster', 'same', 'unclear', 'noResult'] as const;

export type CellVerdict = (typeof CELL_VERDICTS)[number];

/** Why a cell is not compared: this is its first sweep, it is not planned in this sweep, or no run counts. */
export const CELL_REASONS = ['new', 'missing', 'failed'] as const;

/** A metric of a cell in the judged sweep, compared with its reference level. */
export interface JudgedCell {
  readonly cellKey: CellKey;
  readonly verdict: CellVerdict;
  readonly reason: (typeof CELL_REASONS)[number] | null;
  readonly metric: GatedMetricId;
  /** Reference level in the unit of the metric; `now` is the value of this sweep. */
  readonly before: number | null;
  readonly now: number | null;
  /** Change of the value from the reference; `ciPercent` is its 95 % interval. */
  readonly changePercent: number | null;
  readonly ciPercent: readonly [number, number] | null;
  /** Smallest change that this sweep would report nine times in ten. */
  readonly mdePercent: number | null;
  /** Two known levels of the cell, in the unit of the metric. */
  readonly levels: readonly [number, number] | null;
  readonly runs: number;
  readonly referenceSweeps: number;
  /** Why there is no value, or why the verdict is unclear. */
  readonly notes: readonly string[];
}

/** A cell or group that is worse than its reference, so that pairs with the last good engine are worthwhile. */
export interface Candidate {
  readonly group: readonly string[];
  /** The cell, or the three calmest cells of the group. */
  readonly cellKeys: readonly CellKey[];
  readonly metric: GatedMetricId;
  readonly changePercent: number;
  readonly deviations: number;
  readonly lastGoodSweepId: SweepId | null;
  /**
   * True for cells with two known levels, or with different builds of the same sources: eight pairs, seven of which
   * must agree.
   */
  readonly isUnsteady: boolean;
}

export interface SweepVerdict {
  readonly judgedBy: (typeof JUDGED_BY)[number];
  /** Every known finding in its state after this sweep, and the new ones, whose `reportedSweepId` is this sweep. */
  readonly findings: readonly Finding[];
  readonly endedAcknowledgements: readonly string[];
  /** Each cell in its own metric, in the order of the evidence. */
  readonly cells: readonly JudgedCell[];
  readonly judged: (cellKey: CellKey, metric: GatedMetricId) => JudgedCell | null;
  /** Groups before cells; larger deviations first. */
  readonly candidates: readonly Candidate[];
}
