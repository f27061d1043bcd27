import type { KnownNoise } from '../../judge/detectable-effect.ts';
import { logsOf, noiseOf } from '../../judge/history/noise.ts';
import { HISTORY } from '../../judge/history/settings.ts';
import { squaresAround } from '../../judge/run-noise.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { MetricId } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import { at } from '../../statistics/at.ts';
import { median } from '../../statistics/median.ts';
import { medianIn } from '../../statistics/order-statistics.ts';
import type { StoreDatabase } from '../../store/file/open.ts';

/** The runs of a cell that count in one sweep. */
interface SweepRuns {
  /** Index of the sweep, oldest first. */
  readonly place: number;
  /** Positive values. */
  readonly values: readonly number[];
}

export interface MeasuredCell {
  readonly cell: KeyedCell;
  readonly metric: MetricId;
  readonly sweeps: readonly SweepRuns[];
}

/**
 * The runs of each cell by sweep. A sweep with the very same runs as an earlier one is left out: recordings replayed twice
 * would look like a machine without noise.
 * @param sweeps oldest first
 * @returns `copies`: number of sweeps left out
 */
export function measuredCells(
  db: StoreDatabase,
  sweeps: readonly Sweep[],
  cells: readonly KeyedCell[],
  requested: MetricId | null,
) {
  const measured = cellHistories(db, sweeps, cells, requested).map(({ cell, history, metric, runs }) => ({
    cell,
    metric,
    sweeps: history.nights.map((place, index) => ({ place, values: runs[index]?.map(({ value }) => value) ?? [] })),
  }));
  const contents = sweeps.map((_, place) =>
    measured.flatMap((one) =>
      one.sweeps.flatMap((own) => (own.place === place ? [[one.cell.key, ...own.values.toSorted()].join(' ')] : [])),
    ),
  );
  const texts = contents.map((own) => own.join('\n'));
  const isCopy = texts.map((text, place) => text !== '' && texts.indexOf(text) < place);
  return {
    copies: isCopy.filter(Boolean).length,
    measured: measured.map((one): MeasuredCell => {
      return { ...one, sweeps: one.sweeps.filter(({ place }) => isCopy[place] !== true) };
    }),
  };
}

/** Excess variance of a median over a mean, for normal values. */
const MEDIAN_VARIANCE = Math.PI / 2;

/** Of single runs around the mean of their sweep, and of the values of sweeps beyond them, without lasting changes. */
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
 * Relative standard deviation of what a timer rounds, from the least gap of the values (a uniform error: step / √12); 0
 * where their many different values show none.
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
