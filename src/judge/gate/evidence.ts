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
  /** One value for each sweep that has one; `nights` are their places among the sweeps. Shares may be 0. */
  readonly history: CellHistory;
  readonly runs: readonly (readonly number[])[];
}

export interface CellEvidence {
  readonly cell: KeyedCell;
  /** Every gated metric that it has values of. The first one is its own, by which it is shown. */
  readonly metrics: readonly MetricHistory[];
  /** Environment of its newest run in each sweep, by place; null where it has none. */
  readonly environmentIds: readonly (string | null)[];
  /** False for a cell of the previous sweep that is not part of this one. */
  readonly isPlanned: boolean;
  /** Of the matrix, but not measured in this sweep, as a filter said: its newest values stand. */
  readonly isLeftOut?: boolean;
  /** Why the judged sweep has no value of its own metric; empty where it has one. */
  readonly failures: readonly string[];
}

/** What pairs of the newest and the last good engine said of a cell. */
export interface PairResult {
  readonly cellKey: CellKey;
  /** By which the cell was suspected. */
  readonly metric: GatedMetricId;
  readonly outcome: 'confirmed' | 'machine' | 'cleared' | 'buildLuck' | 'notComparable';
  readonly count: number;
  readonly agreeing: number;
  /** Of the median pair; above 0 where the newest engine has the larger value. */
  readonly changePercent: number;
}

export interface SweepEvidence {
  /** Oldest first; the last one is judged. */
  readonly sweeps: readonly Sweep[];
  /** Of these, those of the base of a pull request; null for a series of its own. */
  readonly baseSweeps: number | null;
  /** Place of the sweep whose runs are the reference; null or not stated: what was last accepted. */
  readonly baselinePlace?: number | null;
  /** Of the judged sweep, and of the one before it. */
  readonly cells: readonly CellEvidence[];
  readonly environments: ReadonlyMap<string, Environment>;
  /** Everything that was reported of this series, whatever became of it. */
  readonly findings: readonly Finding[];
  /** Acknowledgements by finding: whether their time is over. */
  readonly acknowledged: ReadonlyMap<string, { readonly isOver: boolean }>;
  readonly rules: GateRules;
  /** Of each cell that was measured in pairs after the judged sweep; null when it was made without pairs. */
  readonly pairs: readonly PairResult[] | null;
}
