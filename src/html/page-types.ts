import type { TrendMark } from '../judge/trend.ts';
import type { CellSamples, LeftOut, ReportLayers, ReportLayersDiff } from './cell-data.ts';
import type { NumberColumn, RunLengths } from './columns.ts';

/** What the script of the page draws from: the same as `ReportData`, in columns, with texts that are safe to show. */
export interface PageData {
  readonly provenance: string;
  readonly sweeps: PageSweeps;
  readonly environments: readonly string[];
  readonly cells: readonly PageCell[];
  readonly texts: readonly string[];
  readonly workloads: readonly PageWorkload[];
}

/** One entry for each sweep, the oldest first. */
export interface PageSweeps {
  readonly ids: readonly string[];
  /** `2026-03-04 02:00`, or nothing where no time is known. */
  readonly starts: readonly string[];
  readonly commits: readonly string[];
  readonly baselines: readonly (readonly string[])[];
}

export interface PageCell {
  readonly key: string;
  readonly label: string;
  readonly metric: string;
  readonly unit: string;
  readonly betterIs: 'lower' | 'higher';
  readonly values: NumberColumn;
  /** How far the least and the most of the runs lie from the value; same decimals, never negative. */
  readonly below: readonly (number | null)[];
  readonly above: readonly (number | null)[];
  readonly runs: RunLengths;
  readonly environments: RunLengths;
  readonly marks: readonly TrendMark[];
  readonly leftOut: readonly LeftOut[];
  readonly samples: CellSamples;
  readonly layers: PageLayers | null;
  readonly diffs: readonly PageDiff[];
}

/** Texts are places in `texts`. */
export interface PageLayers extends Pick<
  ReportLayers,
  'runId' | 'night' | 'iterations' | 'totalMs' | 'rest' | 'notes'
> {
  readonly ms: NumberColumn;
  readonly labels: readonly number[];
  readonly blocks: readonly number[];
  readonly purposes: readonly number[];
  readonly types: readonly number[];
  readonly precisions: readonly number[];
  readonly tactics: readonly number[];
}

export interface PageDiff extends Pick<ReportLayersDiff, 'title' | 'baseMs' | 'headMs' | 'moreRows' | 'moreMs'> {
  readonly changes: readonly number[];
  readonly labels: readonly number[];
  readonly details: readonly number[];
  readonly layers: readonly (readonly [number, number])[];
  readonly base: NumberColumn;
  readonly head: NumberColumn;
}

export interface PageWorkload {
  readonly model: string;
  readonly points: readonly PagePoint[];
}

export interface PagePoint {
  readonly key: string;
  readonly label: string;
  readonly precision: string;
  readonly latencyMs: number;
  readonly itemsPerS: number;
  readonly isFront: boolean;
}
