import type { TrendMark } from '../judge/trend.ts';
import type { KeyedCell } from '../records/cell.ts';
import type { MetricId } from '../records/metric.ts';
import type { SampleHistogram } from './histogram.ts';

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

/** Over the runs of one night, in the unit of the metric. */
export interface ReportNight {
  readonly value: number;
  readonly least: number;
  readonly most: number;
  readonly runs: number;
  /** Place among the environments; null when that is not known. */
  readonly environment: number | null;
}

export interface LeftOut {
  readonly night: number;
  readonly reason: string;
  readonly runs: number;
}

export interface CellSamples {
  /** The night whose runs these are; null when the cell was never measured. */
  readonly night: number | null;
  /** Null when no run of that night kept its samples. */
  readonly histogram: SampleHistogram | null;
  /** Runs whose samples cannot be read. */
  readonly unreadable: number;
}

export interface ReportLayers {
  readonly runId: string;
  readonly night: number | null;
  /** Queries that the profiler saw; null when only names and kernels are known. */
  readonly iterations: number | null;
  readonly totalMs: number;
  readonly layers: readonly ReportLayer[];
  /** Those that are too small to be drawn one by one. */
  readonly rest: { readonly layers: number; readonly ms: number };
  readonly notes: readonly string[];
}

export interface ReportLayer {
  readonly label: string;
  readonly block: string;
  readonly purpose: string;
  readonly type: string;
  readonly precision: string;
  readonly tactic: string;
  readonly ms: number;
}

export interface ReportLayersDiff {
  /** What stands against what, in words. */
  readonly title: string;
  readonly baseMs: number;
  readonly headMs: number;
  readonly rows: readonly ReportLayerChange[];
  readonly moreRows: number;
  readonly moreMs: number;
}

export interface ReportLayerChange {
  readonly change: string;
  readonly label: string;
  readonly detail: string;
  readonly layers: readonly [number, number];
  readonly baseMs: number;
  readonly headMs: number;
}
