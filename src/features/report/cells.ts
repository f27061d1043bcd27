import { usualBound } from '../../judge/bound.ts';
import type { CellSweeps } from '../../judge/gate/fit-runs.ts';
import type { SweepRun } from '../../judge/value-rule.ts';
import type { BoundBy } from '../../records/bound.ts';
import type { Sweep } from '../../records/sweep.ts';
import { type CellSamples, type LeftOut, type SweepColumns, histogramOf } from '../../html/page-data.ts';
import type { ReportCell } from './page/report-data.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { runSamples } from '../../store/runs/show-run.ts';
import type { SweepId } from '../../records/scalars.ts';

/** One entry for each sweep of the series. @param environmentIds environments of the page, in order */
export function sweepColumns(
  { history, runs }: CellSweeps,
  sweeps: readonly Sweep[],
  environmentIds: readonly string[],
): SweepColumns {
  const places = new Map(history.places.map((sweep, place) => [sweep, place]));
  const column = (of: (own: readonly SweepRun[], place: number) => number | null) =>
    sweeps.map((_, sweep) => {
      const place = places.get(sweep);
      const own = place === undefined ? undefined : runs[place];
      return place === undefined || own === undefined ? null : of(own, place);
    });
  return {
    values: column((_, place) => history.values[place] ?? null),
    least: column((own) => Math.min(...own.map(({ value }) => value))),
    most: column((own) => Math.max(...own.map(({ value }) => value))),
    runs: column(({ length }) => length),
    environments: column((own) => {
      const environment = environmentIds.indexOf(own.at(-1)?.environmentId ?? '');
      return environment === -1 ? null : environment;
    }),
  };
}

export function newestBound({ runs }: CellSweeps): BoundBy | null {
  return usualBound((runs.at(-1) ?? []).map(({ boundBy }) => boundBy));
}

/** Measured runs that do not count, by sweep and reason. */
export function leftOutRuns({ leftOut }: CellSweeps, sweeps: readonly Sweep[]): LeftOut[] {
  return sweeps.flatMap(({ sweepId }, sweep) => {
    const reasons = leftOut.filter((run) => run.sweepId === sweepId).map(({ reason }) => reason);
    return [...Map.groupBy(reasons, (reason) => reason)].map(([reason, { length }]) => ({
      sweep,
      reason,
      runs: length,
    }));
  });
}

/** Maximum number of runs whose queries are read. */
const SHOWN_RUNS = 6;

/** By cell key: query times of the newest runs, and of those before the last change of level. */
export function newestSamples(
  db: StoreDatabase,
  cells: readonly Pick<ReportCell, 'cell' | 'values' | 'marks'>[],
  sweepIds: readonly SweepId[],
): Map<string, CellSamples> {
  const sides = cells.map(({ cell: { key }, marks, values }) => {
    const sweep = values.findLastIndex((one) => one !== null);
    const change = marks.findLast(({ kind }) => kind === 'slower' || kind === 'faster')?.step ?? sweep;
    return { key, sweep, before: values.findLastIndex((one, place) => one !== null && place < change) };
  });
  const places = sides.flatMap(({ before, sweep }) => [before, sweep]);
  const wanted = new Set(places.flatMap((place) => sweepIds[place] ?? []));
  const keys = cells.map(({ cell }) => cell.key);
  const runs = cellRunsOf(db, [...wanted], keys).filter(isMeasured);
  const bySweepAndCell = Map.groupBy(runs, ({ sweepId, cellKey }) => `${sweepId} ${cellKey}`);
  return new Map(
    sides.map(({ before, key, sweep }) => {
      const [now, earlier] = [sweep, before].map((place) =>
        samplesOf(db, bySweepAndCell.get(`${sweepIds[place]} ${key}`) ?? []),
      );
      return [
        key,
        {
          sweep: sweep < 0 ? null : sweep,
          before: before < 0 ? null : before,
          histogram: histogramOf(now ?? [], earlier),
        },
      ];
    }),
  );
}

/** GPU compute times of the queries of some runs; those with samples that cannot be read are omitted. */
function samplesOf(db: StoreDatabase, runs: readonly CellRun[]): Float64Array[] {
  return runs.slice(-SHOWN_RUNS).flatMap(({ runId }) => {
    try {
      return runSamples(db, runId)?.columns.computeMs ?? [];
    } catch {
      // A blob of another program, or a damaged one. The rest of the report stays valid.
      return [];
    }
  });
}
