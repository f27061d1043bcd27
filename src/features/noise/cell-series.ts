import { type CellRun, isMeasured } from '../../records/run.ts';
import { machineKey } from '../../judge/compare/differences.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { Environment } from '../../records/environment.ts';
import { gateMetric, type MetricId } from '../../records/metric.ts';
import type { Outcome } from '../../records/outcome.ts';
import { valueRule } from '../../judge/value-rule.ts';
import type { SweepId } from '../../records/scalars.ts';
import { median } from '../../statistics/median.ts';

export interface NoiseRun extends Pick<
  CellRun,
  'buildId' | 'cellKey' | 'centres' | 'environmentId' | 'role' | 'sweepId' | 'values'
> {
  readonly outcome: Pick<Outcome, 'kind'>;
  /** Engine file of an imported run; absent where unknown, or where a build is known. */
  readonly enginePath?: string;
}

/** The runs of one cell in one sweep: same engine, same machine. */
export interface SweepRuns {
  /** Index in the series, oldest first. */
  readonly place: number;
  /** Positive values in the order of runs. */
  readonly values: readonly number[];
  /** Equal for the same engine on the same machine; null when the engine is unknown. */
  readonly origin: string | null;
}

export interface CellSeries {
  readonly cell: KeyedCell;
  readonly metric: MetricId;
  /** Oldest first, without sweeps that lack a value. */
  readonly sweeps: readonly SweepRuns[];
}

export interface SeriesSweep {
  readonly sweepId: SweepId;
  readonly commit: string | null;
  readonly dirty: boolean | null;
}

/**
 * Measured runs of each cell, by sweep. Left out: sweeps with another GPU model, TensorRT major or locked clock than
 * the newest, and runs of another engine than the last of their sweep.
 * @param sweeps oldest first
 * @param runs in order
 */
export function cellSeries(
  cells: readonly KeyedCell[],
  sweeps: readonly SeriesSweep[],
  runs: readonly NoiseRun[],
  environments: ReadonlyMap<string, Environment>,
  requested: MetricId | null,
): CellSeries[] {
  const timed = runs.filter(isMeasured);
  const byCell = Map.groupBy(timed, ({ cellKey }) => cellKey);
  return cells.map((cell) => {
    const metric = gateMetric(requested, cell);
    const own = (byCell.get(cell.key) ?? []).filter((run) => (run.values[metric] ?? 0) > 0);
    const bySweep = Map.groupBy(own, ({ sweepId }) => sweepId);
    const newest = sweeps.findLast(({ sweepId }) => bySweep.has(sweepId))?.sweepId ?? '';
    const machine = machineOf(bySweep.get(newest)?.at(-1), environments);
    const valueOf = valueRule(own, metric);
    return {
      cell,
      metric,
      sweeps: sweeps.flatMap((sweep, place) => {
        const there = bySweep.get(sweep.sweepId) ?? [];
        const last = there.at(-1);
        if (last === undefined || machineOf(last, environments) !== machine) return [];
        const origin = originOf(last, sweep, environments);
        const comparable = there.filter(
          (run) => run.enginePath === last.enginePath && originOf(run, sweep, environments) === origin,
        );
        const values = comparable.flatMap((run) => valueOf(run) ?? []);
        return [{ place, values, origin }];
      }),
    };
  });
}

function machineOf(run: NoiseRun | undefined, environments: ReadonlyMap<string, Environment>): string | null {
  if (run === undefined) return null;
  return machineKey(environments.get(run.environmentId));
}

/** GPUs of one model in one machine count together, as in comparisons. */
function originOf(
  { buildId, enginePath, environmentId }: NoiseRun,
  { commit, dirty }: SeriesSweep,
  environments: ReadonlyMap<string, Environment>,
): string | null {
  const engine = buildId ?? (dirty === true ? null : commit);
  if (engine === null) return null;
  const environment = environments.get(environmentId);
  const { gpuName, driver, cuda, tensorrt, host } = environment ?? {};
  return JSON.stringify([engine, enginePath, gpuName, driver, cuda, tensorrt, host]);
}

/** One value per sweep. */
export function nightlyValues(sweeps: readonly SweepRuns[]) {
  return {
    nights: sweeps.map(({ place }) => place),
    values: Float64Array.from(sweeps, ({ values }) => median(values) ?? Number.NaN),
  };
}

/**
 * Drops sweeps with the very same runs as an earlier one: recordings replayed twice would look like a machine without
 * noise.
 */
export function withoutCopies<Sweep extends { readonly sweepId: SweepId }>(
  sweeps: readonly Sweep[],
  runs: readonly NoiseRun[],
): Sweep[] {
  const bySweep = Map.groupBy(runs, ({ sweepId }) => sweepId);
  const known = new Set<string>();
  return sweeps.filter(({ sweepId }) => {
    const own = (bySweep.get(sweepId) ?? [])
      .map(({ cellKey, values, centres }) => JSON.stringify([cellKey, values, centres]))
      .toSorted();
    const content = own.join('\n');
    if (own.length > 0 && known.has(content)) return false;
    known.add(content);
    return true;
  });
}
