import type { CellNights } from '../../judge/gate/cell-nights.ts';
import type { TrendStep } from '../../judge/trend.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { CellSamples, LeftOut, ReportNight } from '../../html/page-types.ts';
import type { ReportCell } from './page/page-data.ts';
import { histogramOf, type RunSamples } from '../../html/histogram.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { runSamples } from '../../store/runs/show-run.ts';
import type { SweepId } from '../../records/scalars.ts';

/** One entry for each sweep of the series. @param environmentIds those of the page, in its order */
export function reportNights(
  { history, runs }: CellNights,
  sweeps: readonly Sweep[],
  environmentIds: readonly string[],
): (ReportNight | null)[] {
  const nights: (ReportNight | null)[] = sweeps.map(() => null);
  for (const [place, current] of runs.entries()) {
    const night = history.nights[place];
    const value = history.values[place];
    if (night === undefined || value === undefined) continue;
    const values = current.map((run) => run.value);
    const environment = environmentIds.indexOf(current.at(-1)?.environmentId ?? '');
    nights[night] = {
      value,
      least: Math.min(...values),
      most: Math.max(...values),
      runs: current.length,
      environment: environment === -1 ? null : environment,
    };
  }
  return nights;
}

/** The nights as `bench trend` takes them, to mark them. */
export function nightSteps(nights: readonly (ReportNight | null)[], sweeps: readonly Sweep[]): TrendStep[] {
  return sweeps.map(({ sweepId }, night) => {
    const { value = null, runs = 0 } = nights[night] ?? {};
    return { id: sweepId, sweepId, value, runs };
  });
}

/** Measured runs that do not count, by sweep and reason. */
export function leftOutRuns({ leftOut }: CellNights, sweeps: readonly Sweep[]): LeftOut[] {
  const places = new Map(sweeps.map(({ sweepId }, night) => [sweepId, night]));
  const groups = Map.groupBy(leftOut, ({ sweepId, reason }) => `${sweepId} ${reason}`);
  return [...groups.values()]
    .flatMap((group): LeftOut[] => {
      const [first] = group;
      const night = first === undefined ? undefined : places.get(first.sweepId);
      return first === undefined || night === undefined ? [] : [{ night, reason: first.reason, runs: group.length }];
    })
    .toSorted((a, b) => a.night - b.night);
}

/** More runs than this are not distinguishable in a chart. */
const SHOWN_RUNS = 6;

/** Query times of the newest runs of each cell, by key. */
export function newestSamples(
  db: StoreDatabase,
  cells: readonly Pick<ReportCell, 'cell' | 'nights'>[],
  sweepIds: readonly SweepId[],
): Map<string, CellSamples> {
  const newest = cells.map(({ cell: { key }, nights }) => ({
    key,
    night: nights.findLastIndex((night) => night !== null),
  }));
  const wanted = new Set(newest.flatMap(({ night }) => sweepIds[night] ?? []));
  const keys = cells.map(({ cell }) => cell.key);
  const runs = cellRunsOf(db, [...wanted], keys).filter(isMeasured);
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
      // A blob that was not written by this program, or was damaged: the rest of the report is valid.
      unreadable += 1;
    }
  }
  const histogram = histogramOf('GPU compute time', compute) ?? histogramOf('latency', latency);
  return { night, histogram, unreadable };
}
