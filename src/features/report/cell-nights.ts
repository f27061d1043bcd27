import type { CellNights } from '../../judge/gate/judge-cell.ts';
import { baselineMarks, changeMarks, environmentMarks, type TrendMark } from '../../judge/trend-marks.ts';
import type { Environment } from '../../records/environment.ts';
import type { Finding } from '../../records/finding.ts';
import { metricOf } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { LeftOut, ReportNight } from '../../html/cell-data.ts';

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
