import type { SampleHistogram } from './histogram.ts';
import type { RunId } from '../records/scalars.ts';

/** Over the runs of one sweep, in the unit of the metric. */
export interface SweepValue {
  readonly value: number;
  readonly least: number;
  readonly most: number;
  readonly runs: number;
  /** Index of the environment; null if unknown. */
  readonly environment: number | null;
}

export interface LeftOut {
  readonly sweep: number;
  readonly reason: string;
  readonly runs: number;
}

export interface CellSamples {
  /** Index of the sweep of these runs; null if the cell was never measured. */
  readonly sweep: number | null;
  /** That of the runs before the last level change, else the one before `sweep`; null if there is none. */
  readonly before: number | null;
  /** Null if no run of `sweep` has samples. */
  readonly histogram: SampleHistogram | null;
  readonly unreadable: number;
}

export interface ReportLayers {
  readonly runId: RunId;
  readonly sweep: number | null;
  /** Profiled queries; null when only names and kernels are known. */
  readonly iterations: number | null;
  readonly totalMs: number;
  readonly layers: readonly ReportLayer[];
  readonly rest: { readonly layers: number; readonly ms: number };
  /** How much of the GPU is used, in sentences; empty without the ONNX model. */
  readonly efficiency: readonly string[];
  readonly notes: readonly string[];
}

export interface ReportLayer {
  readonly label: string;
  readonly block: string;
  readonly purpose: string;
  readonly type: string;
  readonly precision: string;
  readonly tactic: string;
  /** Share of the GPU's peak, as text; empty where it is not known. */
  readonly peak: string;
  /** `compute`, `memory`, or empty. */
  readonly limit: string;
  readonly ms: number;
}

export interface ReportLayersDiff {
  /** What is against what, in words. */
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

/** Data for the page's script: `ReportData` in columns, with escaped texts. */
export interface PageData {
  readonly provenance: string;
  readonly sweeps: PageSweeps;
  readonly environments: readonly string[];
  readonly cells: readonly PageCell[];
  readonly texts: readonly string[];
  readonly workloads: readonly PageWorkload[];
}

/** One entry per sweep, the oldest first. */
interface PageSweeps {
  readonly ids: readonly string[];
  /** `2026-03-04 02:00`, or empty if the time is unknown. */
  readonly starts: readonly string[];
  readonly commits: readonly string[];
  readonly baselines: readonly (readonly string[])[];
}

export interface PageCell {
  readonly key: string;
  readonly label: string;
  /** The words that tell it from the others. */
  readonly name: string;
  readonly metric: string;
  readonly unit: string;
  readonly betterIs: 'lower' | 'higher';
  /** The largest value that there can be; null where there is none. */
  readonly most: number | null;
  readonly values: readonly (PageValue | null)[];
  /** What the heat map is neutral at; null without a value. */
  readonly level: number | null;
  readonly marks: readonly PageMark[];
  readonly leftOut: readonly LeftOut[];
  readonly samples: CellSamples;
  readonly layers: PageLayers | null;
  readonly diffs: readonly PageDiff[];
}

/** What became of the line at a sweep: the place of it, and what is said. */
interface PageMark {
  readonly step: number;
  readonly kind: 'slower' | 'faster' | 'bound' | 'environment' | 'baseline';
  readonly text: string;
  readonly breaksLine: boolean;
}

/** A year of cells has tens of thousands of them: fields without their names. */
export type PageValue = readonly [value: number, least: number, most: number, runs: number, environment: number | null];

/** Rows of numbers: milliseconds, then indices into `texts` in the order of `layersOf`. */
export interface PageLayers extends Omit<ReportLayers, 'layers'> {
  readonly rows: readonly (readonly number[])[];
}

/** Rows of numbers in the order of `changesOf`. */
export interface PageDiff extends Omit<ReportLayersDiff, 'rows'> {
  readonly rows: readonly (readonly number[])[];
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
  readonly accuracy: 'checked' | 'reference' | 'notChecked';
  /** Half the range of its runs, as a share of the value. */
  readonly noise: number;
}
