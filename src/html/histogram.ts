import type { Immutable, RunId } from '../records/scalars.ts';
import { type Bins, binsOver, countIn } from '../statistics/histogram.ts';
import { quantileSorted, trtexecPercentile } from '../statistics/quantile.ts';

export type SampleHistogram = Immutable<NonNullable<ReturnType<typeof histogramOf>>>;

export interface RunSamples {
  readonly runId: RunId;
  readonly values: Float64Array;
}

const BINS = 48;
/**
 * Histograms of runs with common bins.
 * @param what kind of samples: `GPU compute time` or `latency`
 * @param earlier runs to compare with, counted together
 * @returns null when no run has a sample
 */
export function histogramOf(what: string, runs: readonly RunSamples[], earlier: readonly RunSamples[] = []) {
  const sorted = runs
    .filter(({ values }) => values.length > 0)
    .map(({ runId, values }) => ({ runId, sorted: [...values].toSorted((a, b) => a - b) }));
  if (sorted.length === 0) return null;
  const before = earlier.flatMap(({ values }) => [...values]).toSorted((a, b) => a - b);
  const samples = [...sorted.map((run) => run.sorted), before].filter(({ length }) => length > 0);
  const bins = binsOver(samples, BINS);
  return {
    what,
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
