import type { MetricId } from '../records/metric.ts';
import type { RunId } from '../records/scalars.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { runSamples } from '../store/runs/show-run.ts';

const COLUMNS = { gpuComputeMs: 'computeMs', latencyMs: 'latencyMs' } as const;

/** The queries of runs in one metric. */
export interface RunQueries {
  readonly metric: keyof typeof COLUMNS;
  /** Number of runs that kept their queries. */
  readonly runs: number;
  /** In milliseconds; not empty. */
  readonly values: readonly number[];
}

/** Queries of the runs, pooled in order; null if the metric is not timed per query, or if no run kept queries. */
export function queryTimes(db: StoreDatabase, runIds: readonly RunId[], metric: MetricId): RunQueries | null {
  const timed = metric === 'p99Ms' ? 'latencyMs' : metric;
  if (timed !== 'gpuComputeMs' && timed !== 'latencyMs') return null;
  const columns = runIds.flatMap((runId) => readable(db, runId)?.columns[COLUMNS[timed]] ?? []);
  const kept = columns.filter(({ length }) => length > 0);
  return kept.length === 0 ? null : { metric: timed, runs: kept.length, values: kept.flatMap((own) => [...own]) };
}

/** Null for missing and damaged samples, on which nothing else of the run depends. */
function readable(db: StoreDatabase, runId: RunId): ReturnType<typeof runSamples> {
  try {
    return runSamples(db, runId);
  } catch {
    return null;
  }
}
