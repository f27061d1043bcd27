import type { Immutable, RunId } from '../records/scalars.ts';
import { type Bins, binsOver, countIn } from '../statistics/histogram.ts';
import { quantileSorted, trtexecPercentile } from '../statistics/order-statistics.ts';

/** One entry per sweep; null for a sweep without a valid measurement. */
type SweepColumn = readonly (number | null)[];

/** Over the runs of each sweep, in the unit of the metric. */
export interface SweepColumns {
  readonly values: SweepColumn;
  readonly least: SweepColumn;
  readonly most: SweepColumn;
  readonly runs: SweepColumn;
  /** Index of the environment; null if unknown. */
  readonly environments: SweepColumn;
}

export interface LeftOut {
  readonly sweep: number;
  readonly reason: string;
  readonly runs: number;
}

export interface CellSamples {
  /** Index of the sweep of these runs; null if the cell was never measured. */
  readonly sweep: number | null;
  /** Index of the sweep before the last change of level, else of the one before `sweep`; null if there is none. */
  readonly before: number | null;
  /** Null if no run of `sweep` has samples. */
  readonly histogram: SampleHistogram | null;
}

export interface ReportLayers {
  readonly runId: RunId;
  readonly sweep: number | null;
  /** Profiled queries; null when only names and kernels are known. */
  readonly iterations: number | null;
  readonly totalMs: number;
  /** The last one may stand for all smaller ones. */
  readonly layers: readonly ReportLayer[];
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

export interface SweepMark {
  readonly step: number;
  readonly kind: 'slower' | 'faster' | 'bound' | 'environment' | 'baseline';
  readonly text: string;
  readonly breaksLine: boolean;
}

/** The data of a cell for its charts. */
export interface DrawnCell extends SweepColumns {
  readonly marks: readonly SweepMark[];
  readonly leftOut: readonly LeftOut[];
  readonly samples: CellSamples;
  /** Null if the series has no profile of the cell. */
  readonly layers: ReportLayers | null;
}

/** Data for the script of the page. */
export interface PageData {
  readonly provenance: string;
  /** Oldest first. `start` is `2026-03-04 02:00`, or empty if the time is unknown. */
  readonly sweeps: readonly { readonly id: string; readonly start: string; readonly commit: string }[];
  readonly environments: readonly string[];
  readonly cells: readonly PageCell[];
  readonly workloads: readonly { readonly model: string; readonly points: readonly PagePoint[] }[];
}

export interface PageCell extends DrawnCell {
  readonly key: string;
  readonly label: string;
  /** The words that distinguish the cell from the others. */
  readonly name: string;
  readonly metric: string;
  readonly unit: string;
  readonly betterIs: 'lower' | 'higher';
  /** Upper limit of the values; null if there is none. */
  readonly whole: number | null;
}

export interface PagePoint {
  readonly key: string;
  readonly label: string;
  readonly precision: string;
  readonly latencyMs: number;
  readonly itemsPerS: number;
  readonly accuracy: 'checked' | 'reference' | 'notChecked';
  /** True if another configuration is better in something and worse in nothing. */
  readonly isDominated: boolean;
}

export type SampleHistogram = Immutable<NonNullable<ReturnType<typeof histogramOf>>>;

export interface RunSamples {
  readonly runId: RunId;
  readonly values: Float64Array;
}

const BINS = 48;
/**
 * Histograms of runs with common bins.
 * @param earlier runs to compare with, counted together
 * @returns null when no run has a sample
 */
export function histogramOf(runs: readonly RunSamples[], earlier: readonly RunSamples[] = []) {
  const sorted = runs
    .filter(({ values }) => values.length > 0)
    .map(({ runId, values }) => ({ runId, sorted: [...values].toSorted((a, b) => a - b) }));
  if (sorted.length === 0) return null;
  const before = earlier.flatMap(({ values }) => [...values]).toSorted((a, b) => a - b);
  const samples = [...sorted.map((run) => run.sorted), before].filter(({ length }) => length > 0);
  const bins = binsOver(samples, BINS);
  return {
    fromMs: bins.from,
    binMs: bins.width,
    runs: sorted.map((run) => ({ runId: run.runId, ...counted(run.sorted, bins) })),
    medianMs: quantileSorted(
      sorted.flatMap((run) => run.sorted).toSorted((a, b) => a - b),
      0.5,
    ),
    before: before.length === 0 ? null : { runs: earlier.length, ...counted(before, bins) },
  };
}

function counted(sorted: readonly number[], bins: Bins) {
  const { counts, beyond } = countIn(sorted, bins);
  return {
    queries: sorted.length,
    counts,
    /** Number of queries above the last bin. */
    beyond,
    /** Percentiles by trtexec's rule, as in the other numbers of the page. */
    statistics: {
      min: sorted[0] ?? Number.NaN,
      median: quantileSorted(sorted, 0.5),
      p90: trtexecPercentile(sorted, 90),
      p99: trtexecPercentile(sorted, 99),
      max: sorted.at(-1) ?? Number.NaN,
    },
  };
}
