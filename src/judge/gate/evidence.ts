import type { KeyedCell } from '../../records/cell.ts';
import type { Environment } from '../../records/environment.ts';
import type { Finding } from '../../records/finding.ts';
import type { GatedMetricId } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { CellHistory } from '../history/noise.ts';
import type { GateRules } from './limits.ts';

/** One metric of a cell over the sweeps of its series. */
export interface MetricHistory {
  readonly metric: GatedMetricId;
  /** One value for each sweep that has one. `nights` holds the indices of these sweeps. Shares may be 0. */
  readonly history: CellHistory;
  readonly runs: readonly (readonly number[])[];
}

export interface CellEvidence {
  readonly cell: KeyedCell;
  /** Every gated metric with values. The first one is the cell's own, which is shown. */
  readonly metrics: readonly MetricHistory[];
  /** Environment of its newest run in each sweep, by index; null for a sweep without one. */
  readonly environmentIds: readonly (string | null)[];
  /** False for a cell of the previous sweep that is not part of this one. */
  readonly isPlanned: boolean;
  /** True if a filter left the cell of the matrix out of this sweep; its newest values then count. */
  readonly isLeftOut?: boolean;
  /** Why the judged sweep has no value of the cell's own metric; empty if it has one. */
  readonly failures: readonly string[];
}

/** Result of pairs of the newest and the last good engine for a cell. */
export interface PairResult {
  readonly cellKey: CellKey;
  /** Metric by which the cell was suspected. */
  readonly metric: GatedMetricId;
  readonly outcome: 'confirmed' | 'machine' | 'cleared' | 'buildLuck' | 'notComparable';
  readonly count: number;
  readonly agreeing: number;
  /** Change of the median pair; above 0 when the newest engine has the larger value. */
  readonly changePercent: number;
}

export interface SweepEvidence {
  /** Oldest first; the last one is judged. */
  readonly sweeps: readonly Sweep[];
  /** Number of them that belong to the base of a pull request; null for a series of its own. */
  readonly baseSweeps: number | null;
  /** Index of the sweep whose runs are the reference; null or undefined for the last accepted level. */
  readonly baselinePlace?: number | null;
  /** Cells of the judged sweep and of the previous one. */
  readonly cells: readonly CellEvidence[];
  readonly environments: ReadonlyMap<string, Environment>;
  /** All findings of this series, in any state. */
  readonly findings: readonly Finding[];
  /** Acknowledgements by finding. `isOver`: they have ended. */
  readonly acknowledged: ReadonlyMap<string, { readonly isOver: boolean }>;
  readonly rules: GateRules;
  /** Results for the cells that were measured in pairs after the judged sweep; null when it had no pairs. */
  readonly pairs: readonly PairResult[] | null;
}
