import { histogramOf, type RunSamples } from '../../html/histogram.ts';
import type { CellSamples, ReportNight } from '../../html/cell-data.ts';
import { type CellRun, cellRunsOf } from '../../store/runs/cell-runs.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { runSamples } from '../../store/runs/show-run.ts';

/** A picture of more runs than this is no picture. */
const SHOWN_RUNS = 6;

/** The queries of the newest runs of each cell, by its key. */
export function newestSamples(
  db: StoreDatabase,
  cells: readonly { readonly key: string; readonly nights: readonly (ReportNight | null)[] }[],
  sweepIds: readonly string[],
): Map<string, CellSamples> {
  const newest = cells.map(({ key, nights }) => ({ key, night: nights.findLastIndex((night) => night !== null) }));
  const wanted = new Set(newest.flatMap(({ night }) => sweepIds[night] ?? []));
  const runs = cellRunsOf(db, [...wanted]).filter(
    ({ role, outcome }) => role === 'timed' && outcome.kind === 'measured',
  );
  const bySweepAndCell = Map.groupBy(runs, ({ sweepId, cellKey }) => `${sweepId} ${cellKey}`);
  return new Map(
    newest.map(({ key, night }) => {
      const own = bySweepAndCell.get(`${sweepIds[night]} ${key}`) ?? [];
      return [key, samplesOf(db, own, night < 0 ? null : night)];
    }),
  );
}

function samplesOf(db: StoreDatabase, runs: readonly CellRun[], night: number | null): CellSamples {
  const compute: RunSamples[] = [];
  const latency: RunSamples[] = [];
  let unreadable = 0;
  for (const { runId } of runs.slice(-SHOWN_RUNS)) {
    try {
      const columns = runSamples(db, runId)?.columns;
      if (columns?.computeMs !== undefined) compute.push({ runId, values: columns.computeMs });
      if (columns?.latencyMs !== undefined) latency.push({ runId, values: columns.latencyMs });
    } catch {
      // A blob that was not written by this program, or was damaged: the rest of the report stands.
      unreadable += 1;
    }
  }
  const histogram = histogramOf('GPU compute time', compute) ?? histogramOf('latency', latency);
  return { night, histogram, unreadable };
}
