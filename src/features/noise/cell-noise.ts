import { machineKey } from '../../judge/compare/differences.ts';
import { type KnownNoise, visibleChange } from '../../judge/detectable-effect.ts';
import { logsOf, noiseOf } from '../../judge/history/noise.ts';
import { HISTORY } from '../../judge/history/settings.ts';
import { squaresAround } from '../../judge/run-noise.ts';
import { valueRule } from '../../judge/value-rule.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { Environment } from '../../records/environment.ts';
import { gateMetric, type MetricId } from '../../records/metric.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import type { SweepId } from '../../records/scalars.ts';
import { at } from '../../statistics/at.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import { median } from '../../statistics/median.ts';
import { medianIn } from '../../statistics/order-statistics.ts';
import { aboutCell } from '../../text/cell-label.ts';
import { type NoisyCell, SHOWN_RUNS } from './output.ts';

export interface NoiseRun extends Pick<
  CellRun,
  'buildId' | 'cellKey' | 'centres' | 'environmentId' | 'role' | 'sweepId' | 'values'
> {
  readonly outcome: Pick<CellRun['outcome'], 'kind'>;
  /** Engine file of an imported run; absent if unknown, or if the build is known. */
  readonly enginePath?: string;
}

/** The runs of a cell in one sweep, from one engine on one kind of machine. */
export interface SweepRuns {
  /** Index of the sweep, oldest first. */
  readonly place: number;
  /** Positive values in order of measurement. */
  readonly values: readonly number[];
}

/** The noise of a cell, and the change that is detectable among this many cells. */
export function noisyCell(cell: KeyedCell, metric: MetricId, sweeps: readonly SweepRuns[], cells: number): NoisyCell {
  const noise = noiseOfSweeps(sweeps);
  return {
    ...aboutCell(cell, metric),
    runs: sweeps.reduce((sum, { values }) => sum + values.length, 0),
    sweeps: sweeps.length,
    runPercent: percentOrNull(noise.run),
    sweepPercent: percentOrNull(noise.sweep),
    visible: SHOWN_RUNS.map((runs) => ({ runs, percent: percentOrNull(visibleChange(noise, runs, cells)) })),
  };
}

function percentOrNull(deviation: number | null): number | null {
  return deviation === null ? null : percentOfLog(deviation);
}

/**
 * Measured runs of a cell by sweep. Omits sweeps with another GPU model, TensorRT major version or locked clock than
 * the newest, and runs of other engines than the last of their sweep.
 * @param sweepIds oldest first
 * @param runs runs of the cell, in order
 */
export function sweepRunsOf(
  cell: KeyedCell,
  requested: MetricId | null,
  sweepIds: readonly SweepId[],
  runs: readonly NoiseRun[],
  environments: ReadonlyMap<string, Environment>,
): SweepRuns[] {
  const metric = gateMetric(requested, cell);
  const measured = runs.filter((run) => isMeasured(run) && (run.values[metric] ?? 0) > 0);
  const bySweep = Map.groupBy(measured, ({ sweepId }) => sweepId);
  const valueOf = valueRule(measured, metric);
  const lasts = sweepIds.flatMap((sweepId, place) => {
    const sweepRuns = bySweep.get(sweepId) ?? [];
    const last = sweepRuns.at(-1);
    return last === undefined
      ? []
      : [{ place, last, sweepRuns, machine: machineKey(environments.get(last.environmentId)) }];
  });
  const newest = lasts.at(-1)?.machine;
  return lasts.flatMap(({ place, last, sweepRuns, machine }) => {
    if (machine !== newest) return [];
    const comparable = sweepRuns.filter(
      ({ buildId, enginePath }) => buildId === last.buildId && enginePath === last.enginePath,
    );
    return [{ place, values: comparable.flatMap((run) => valueOf(run) ?? []) }];
  });
}

/** Excess variance of a median over a mean, for normal values. */
const MEDIAN_VARIANCE = Math.PI / 2;

/**
 * Standard deviation of single runs around the mean of their sweep, and of the values of sweeps beyond that; lasting
 * changes are removed.
 */
export function noiseOfSweeps(sweeps: readonly SweepRuns[]): KnownNoise {
  const squares = sweeps.reduce((sum, { values }) => sum + squaresAround(values), 0);
  const within = sweeps.reduce((sum, { values }) => sum + values.length - 1, 0);
  const run = within === 0 ? null : Math.sqrt(squares / within);
  if (sweeps.length < HISTORY.leastNights) return { run, sweep: null, degrees: within };
  const values = Float64Array.from(sweeps, (sweep) => median(sweep.values) ?? Number.NaN);
  const history = { nights: sweeps.map(({ place }) => place), values };
  const sigma = Math.max(noiseOf(logsOf(history)).sigma, timerNoise(values));
  const runs = median(sweeps.map((sweep) => sweep.values.length)) ?? 1;
  const byRuns = (runs > 2 ? MEDIAN_VARIANCE : 1) * ((run ?? 0) ** 2 / runs);
  return { run, sweep: Math.sqrt(Math.max(0, sigma ** 2 - byRuns)), degrees: Math.max(within, sweeps.length - 1) };
}

/**
 * Relative standard deviation of a timer's rounding error, from the smallest gap of the values: a uniform error, step /
 * √12. It is 0 if many different values show no rounding.
 */
function timerNoise(values: Float64Array): number {
  const sorted = values.toSorted();
  const gaps = sorted
    .subarray(1)
    .map((value, place) => value - at(sorted, place))
    .filter((gap) => gap > 0);
  const isCoarse = gaps.length > 0 && gaps.length + 1 <= Math.max(3, 0.6 * sorted.length);
  return isCoarse ? Math.min(...gaps) / medianIn(sorted, 0, sorted.length) / Math.sqrt(12) : 0;
}

/**
 * Drops sweeps with exactly the same runs as an earlier one, because recordings replayed twice would look like a
 * machine without noise.
 */
export function withoutCopies(sweepIds: readonly SweepId[], runs: readonly NoiseRun[]): SweepId[] {
  const bySweep = Map.groupBy(runs, ({ sweepId }) => sweepId);
  const contents = new Set<string>();
  return sweepIds.filter((sweepId) => {
    const sweepRuns = bySweep.get(sweepId) ?? [];
    const content = sweepRuns.map(({ cellKey, values, centres }) => JSON.stringify([cellKey, values, centres]));
    const text = content.toSorted().join('\n');
    if (content.length > 0 && contents.has(text)) return false;
    contents.add(text);
    return true;
  });
}
