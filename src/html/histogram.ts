import type { Immutable } from '../records/scalars.ts';
import { quantileSorted, trtexecPercentile } from '../statistics/quantile.ts';
import type { RunId } from '../records/scalars.ts';

export type SampleHistogram = Immutable<NonNullable<ReturnType<typeof histogramOf>>>;

export interface RunSamples {
  readonly runId: RunId;
  readonly values: Float64Array;
}

const BINS = 48;
/** The bins extend to this multiple of the quantile: one outlier must not squeeze the others into one bin. */
const REACH_QUANTILE = 0.995;
const REACH_BINS = 2;

/**
 * @param what the samples are: `GPU compute time` or `latency`
 * @returns null when no run has a sample
 */
export function histogramOf(what: string, runs: readonly RunSamples[]) {
  const sorted = runs
    .filter(({ values }) => values.length > 0)
    .map(({ runId, values }) => ({ runId, sorted: [...values].toSorted((a, b) => a - b) }));
  if (sorted.length === 0) return null;
  const fromMs = Math.min(...sorted.map(({ sorted: [least = 0] }) => least));
  const reach = Math.max(...sorted.map((run) => quantileSorted(run.sorted, REACH_QUANTILE)));
  const span = reach > fromMs ? reach - fromMs : Math.max(fromMs, 1e-6) * 1e-3;
  const binMs = span / (BINS - REACH_BINS);
  return { what, fromMs, binMs, runs: sorted.map((run) => countRun(run.runId, run.sorted, fromMs, binMs)) };
}

function countRun(runId: RunId, sorted: readonly number[], fromMs: number, binMs: number) {
  const counts = Array.from({ length: BINS }, () => 0);
  let beyond = 0;
  for (const value of sorted) {
    const bin = Math.floor((value - fromMs) / binMs);
    const before = counts[bin];
    if (before === undefined) beyond += 1;
    else counts[bin] = before + 1;
  }
  return {
    runId,
    queries: sorted.length,
    counts,
    /** Queries above the last bin. */
    beyond,
    /** Percentiles by trtexec's rule, to match the other numbers of the page. */
    statistics: {
      min: sorted[0] ?? Number.NaN,
      median: quantileSorted(sorted, 0.5),
      p90: trtexecPercentile(sorted, 90),
      p99: trtexecPercentile(sorted, 99),
      max: sorted.at(-1) ?? Number.NaN,
    },
  };
}
