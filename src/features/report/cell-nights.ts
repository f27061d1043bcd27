import type { CellNights } from '../../judge/gate/judge-cell.ts';
import { baselineMarks, changeMarks, environmentMarks, type TrendMark } from '../../judge/trend.ts';
import type { Environment } from '../../records/environment.ts';
import type { Finding } from '../../records/finding.ts';
import { metricOf } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { LeftOut, ReportNight, CellSamples } from '../../html/cell-data.ts';
import { histogramOf, type RunSamples } from '../../html/histogram.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { runSamples } from '../../store/runs/show-run.ts';

/** The environments of a series, each with its place in a list. */
export class EnvironmentList {
  readonly environments: Environment[] = [];
  private readonly places = new Map<string, number>();
  private readonly known: ReadonlyMap<string, Environment>;

  constructor(known: ReadonlyMap<string, Environment>) {
    this.known = known;
  }

  placeOf(id: string): number | null {
    const place = this.places.get(id);
    if (place !== undefined) return place;
    const environment = this.known.get(id);
    if (environment === undefined) return null;
    this.places.set(id, this.environments.length);
    this.environments.push(environment);
    return this.environments.length - 1;
  }
}

/** One entry for each sweep of the series. */
export function reportNights(
  { history, runs }: CellNights,
  sweeps: readonly Sweep[],
  list: EnvironmentList,
): (ReportNight | null)[] {
  const nights: (ReportNight | null)[] = sweeps.map(() => null);
  for (const [place, tonight] of runs.entries()) {
    const night = history.nights[place];
    const value = history.values[place];
    if (night === undefined || value === undefined) continue;
    const values = tonight.map((run) => run.value);
    const environmentId = tonight.at(-1)?.environmentId;
    nights[night] = {
      value,
      least: Math.min(...values),
      most: Math.max(...values),
      runs: tonight.length,
      environment: environmentId === undefined ? null : list.placeOf(environmentId),
    };
  }
  return nights;
}

/** As `bench trend` marks them: changes of the level, of the machine, and baselines. */
export function nightMarks(
  { metric, runs }: CellNights,
  nights: readonly (ReportNight | null)[],
  sweeps: readonly Sweep[],
  environments: ReadonlyMap<string, Environment>,
  findings: readonly Finding[],
  baselines: ReadonlyMap<string, readonly string[]>,
): TrendMark[] {
  const steps = sweeps.map(({ sweepId }, night) => ({
    id: sweepId,
    sweepId,
    value: nights[night]?.value ?? null,
    runs: nights[night]?.runs ?? 0,
  }));
  const ofSweep = new Map(
    runs.flat().flatMap(({ sweepId, environmentId }) => {
      const environment = environments.get(environmentId);
      return environment === undefined ? [] : [[sweepId, environment] as const];
    }),
  );
  return [
    ...changeMarks(steps, metricOf(metric).betterIs, findings),
    ...environmentMarks(steps, ofSweep),
    ...baselineMarks(steps, baselines),
  ].toSorted((a, b) => a.step - b.step);
}

/** Runs that were measured and do not count, by night and reason. */
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
  const keys = cells.map(({ key }) => key);
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
      // A blob that was not written by this program, or was damaged: the rest of the report stands.
      unreadable += 1;
    }
  }
  const histogram = histogramOf('GPU compute time', compute) ?? histogramOf('latency', latency);
  return { night, histogram, unreadable };
}
