import type { MetricId } from '../records/metric.ts';
import type { RunId } from '../records/scalars.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { runSamples } from '../store/runs/show-run.ts';

const COLUMNS = { gpuComputeMs: 'computeMs', latencyMs: 'latencyMs' } as const;

/** The queries of runs by one metric. */
export interface RunQueries {
  readonly metric: keyof typeof COLUMNS;
  /** Runs that kept their queries. */
  readonly runs: number;
  /** Milliseconds, not empty. */
  readonly values: readonly number[];
}

/** Pooled over the runs, in their order; null where the queries are not timed by it, or no run kept any. */
export function queryTimes(db: StoreDatabase, runIds: readonly RunId[], metric: MetricId): RunQueries | null {
  const timed = metric === 'p99Ms' ? 'latencyMs' : metric;
  if (timed !== 'gpuComputeMs' && timed !== 'latencyMs') return null;
  const columns = runIds.flatMap((runId) => readable(db, runId)?.columns[COLUMNS[timed]] ?? []);
  const kept = columns.filter(({ length }) => length > 0);
  return kept.length === 0 ? null : { metric: timed, runs: kept.length, values: kept.flatMap((own) => [...own]) };
}

/** Null for none, and for a damaged one: nothing else of the run depends on it. */
function readable(db: StoreDatabase, runId: RunId): ReturnType<typeof runSamples> {
  try {
    return runSamples(db, runId);
  } catch {
    return null;
  }
}
