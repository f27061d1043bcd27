import type { DrawnCell } from '../../../html/page-data.ts';
import type { BoundBy } from '../../../records/bound.ts';
import type { KeyedCell } from '../../../records/cell.ts';
import type { Environment } from '../../../records/environment.ts';
import type { MetricId } from '../../../records/metric.ts';
import type { CellKey } from '../../../records/scalars.ts';
import type { Sweep } from '../../../records/sweep.ts';
import type { Forge } from '../../../tools/git/git.ts';
import type { CheckedFinding, CheckedSeries } from '../../check/index.ts';
import type { ParetoOutput } from '../../choose/index.ts';
import type { Comparison } from '../../compare/index.ts';
import type { CellJudgement } from '../../export/index.ts';

export interface ReportCell extends DrawnCell {
  readonly cell: KeyedCell;
  readonly metric: MetricId;
  /** In the newest sweep with a value; null if unknown. */
  readonly boundBy: BoundBy | null;
  readonly judgement: CellJudgement;
}

/**
 * The data of the HTML report as JSON values, for one series: sweeps of one matrix, branch and provenance. Not safe to
 * print.
 */
export interface ReportData {
  readonly toolVersion: string;
  /** The series, with the number of its sweeps that are older than those of the report. */
  readonly series: Series & { readonly olderSweeps: number };
  /** Oldest first. Index `n` in every cell is the n-th sweep. */
  readonly sweeps: readonly ReportSweep[];
  readonly cells: readonly ReportCell[];
  /** Cells refer to environments by index. */
  readonly environments: readonly Environment[];
  readonly environmentChanges: readonly EnvironmentChange[];
  readonly check: {
    readonly series: CheckedSeries;
    readonly findings: readonly (CheckedFinding & { readonly layers: FindingLayers | null })[];
    /** Whether `bench check` stored the findings, so that commands accept their IDs. */
    readonly isStored: boolean;
  };
  /** HEAD against BASE, the subject of the first screen; null if they were not named. */
  readonly compare: Comparison | null;
  /** Forge of the remote `origin`; null if unknown. */
  readonly forge: Forge | null;
  /** Null when no cell of the newest sweep has a measurement. */
  readonly pareto: ParetoOutput | null;
  /** Other series of the store, which are never mixed with this one. */
  readonly others: readonly (Series & { readonly sweeps: number })[];
}

/** Layers before and after the change, in one cell of a finding. Times are of one query. */
export interface FindingLayers {
  readonly cell: CellKey;
  /** The two compared profiles in words. */
  readonly title: string;
  readonly baseMs: number;
  readonly headMs: number;
  /** Largest change first. */
  readonly rows: readonly ChangedLayer[];
  /** Command that shows the full diff. */
  readonly command: string;
  /** What weakens the comparison. */
  readonly notes: readonly string[];
}

interface ChangedLayer {
  readonly change: string;
  readonly label: string;
  readonly detail: string;
  readonly baseMs: number;
  readonly headMs: number;
  readonly deltaMs: number;
}

type Series = Pick<Sweep, 'provenance' | 'matrix' | 'branch'>;

type ReportSweep = Pick<Sweep, 'sweepId' | 'startedAt' | 'commit' | 'dirty' | 'recordingSet'>;

export interface EnvironmentChange {
  /** Index of the sweep. */
  readonly sweep: number;
  readonly text: string;
  /** True if later values come from another machine. */
  readonly breaksLine: boolean;
  readonly cells: number;
}
