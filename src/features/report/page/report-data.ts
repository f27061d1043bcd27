import type { Environment } from '../../../records/environment.ts';
import type { Sweep } from '../../../records/sweep.ts';
import type { CheckedSweep } from '../../check/index.ts';
import type { Comparison } from '../../compare/index.ts';
import type { ParetoOutput } from '../../choose/index.ts';
import type { CellSamples, LeftOut, ReportLayers, ReportLayersDiff, ReportNight } from '../../../html/page-types.ts';
import type { TrendMark } from '../../../judge/trend.ts';
import type { KeyedCell } from '../../../records/cell.ts';
import type { MetricId } from '../../../records/metric.ts';

/** All that the report says of one cell. */
export interface ReportCell {
  readonly cell: KeyedCell;
  readonly metric: MetricId;
  /** One entry for each sweep; null where nothing was measured that counts. */
  readonly nights: readonly (ReportNight | null)[];
  readonly marks: readonly TrendMark[];
  readonly leftOut: readonly LeftOut[];
  readonly samples: CellSamples;
  /** Null when no profile of the cell is in the series. */
  readonly layers: ReportLayers | null;
  readonly diffs: readonly ReportLayersDiff[];
}

/**
 * Everything that the HTML report says, as values that JSON can carry. It is of one series: sweeps of one matrix,
 * branch and provenance. Nothing in it is safe to print yet.
 */
export interface ReportData {
  readonly toolVersion: string;
  /** And how many of its sweeps are older than those of the report. */
  readonly series: Series & { readonly olderSweeps: number };
  /** The oldest first: night `n` of every cell is the n-th of them. */
  readonly sweeps: readonly ReportSweep[];
  readonly cells: readonly ReportCell[];
  /** Those that some run of the series was made in; cells name them by their place here. */
  readonly environments: readonly Environment[];
  readonly environmentChanges: readonly EnvironmentChange[];
  readonly check: CheckedSweep;
  /** The newest sweep against the one before it; null when there is only one. */
  readonly compare: Comparison | null;
  /** Null when no cell of the newest sweep has a measurement. */
  readonly pareto: ParetoOutput | null;
  /** What else the store has: never mixed with this. */
  readonly others: readonly (Series & { readonly sweeps: number })[];
}

type Series = Pick<Sweep, 'provenance' | 'matrix' | 'branch'>;

type ReportSweep = Pick<Sweep, 'sweepId' | 'startedAt' | 'commit' | 'dirty' | 'recordingSet'> & {
  /** Names of baselines that point at it. */
  readonly baselines: readonly string[];
};

export interface EnvironmentChange {
  /** Place among the sweeps. */
  readonly night: number;
  readonly text: string;
  /** What follows is another machine, and no continuation. */
  readonly breaksLine: boolean;
  readonly cells: number;
}
