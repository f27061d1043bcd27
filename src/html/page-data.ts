import type { Immutable, RunId } from '../records/scalars.ts';
import { binsOver, countIn } from '../statistics/histogram.ts';
import { quantileSorted } from '../statistics/order-statistics.ts';

/** One entry per sweep; null for a sweep without a valid measurement. */
type SweepColumn = readonly (number | null)[];

/** Over the runs of each sweep, in the unit of the metric; `environments` has the index of the environment, or null. */
type SweepColumns = Readonly<Record<'values' | 'least' | 'most' | 'runs' | 'environments', SweepColumn>>;

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

export type ReportLayer = Readonly<
  Record<'label' | 'block' | 'purpose' | 'type' | 'precision' | 'tactic', string> & { ms: number }
>;

/** The data of a cell for its charts. */
export interface DrawnCell extends SweepColumns {
  readonly marks: readonly {
    readonly step: number;
    readonly kind: 'slower' | 'faster' | 'bound' | 'environment' | 'baseline';
    readonly text: string;
    readonly breaksLine: boolean;
  }[];
  /** Runs that do not count. */
  readonly leftOut: readonly { readonly sweep: number; readonly reason: string }[];
  readonly samples: {
    /** Index of the sweep of these runs; null if the cell was never measured. */
    readonly sweep: number | null;
    /** Index of the sweep before the last change of level, else of the one before `sweep`; null if there is none. */
    readonly before: number | null;
    /** Null if no run of `sweep` has samples. */
    readonly histogram: SampleHistogram | null;
  };
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
  readonly metric: string;
  readonly unit: string;
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

const BINS = 48;
/**
 * Shares of the queries of some runs, and of earlier ones, in common bins.
 * @param runs times of the queries of each run, in milliseconds
 * @param earlier runs to compare with
 * @returns null when no run has a sample
 */
export function histogramOf(runs: readonly Float64Array[], earlier: readonly Float64Array[] = []) {
  const [now, before] = [runs, earlier].map((own) => {
    const kept = own.filter(({ length }) => length > 0);
    return { runs: kept.length, sorted: kept.flatMap((values) => [...values]).toSorted((a, b) => a - b) };
  });
  if (now === undefined || now.sorted.length === 0) return null;
  const sides = before === undefined || before.runs === 0 ? [now] : [now, before];
  const bins = binsOver(
    sides.map(({ sorted }) => sorted),
    BINS,
  );
  const [drawn, drawnBefore = null] = sides.map(({ runs: number, sorted }) => ({
    runs: number,
    medianMs: quantileSorted(sorted, 0.5),
    shares: countIn(sorted, bins).counts.map((inBin) => inBin / sorted.length),
  }));
  return drawn === undefined ? null : { fromMs: bins.from, binMs: bins.width, now: drawn, before: drawnBefore };
}
