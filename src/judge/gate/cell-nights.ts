import type { KeyedCell } from '../../records/cell.ts';
import type { MetricId } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { median, middleOfThree } from '../../statistics/median.ts';
import type { CellHistory } from '../history/noise.ts';
import type { NightRun } from '../value-rule.ts';
import { clockOf, type FitRun, fitRuns, type LeftOutRun } from './fit-runs.ts';

/** The history of a cell in a series. */
export interface CellNights {
  readonly cell: KeyedCell;
  readonly metric: MetricId;
  readonly history: CellHistory;
  /** Runs of each measured sweep, in the order of `history.nights`. */
  readonly runs: readonly (readonly NightRun[])[];
  /** Measured runs that do not count, with reasons. */
  readonly leftOut: readonly LeftOutRun[];
}

/** @param sweeps oldest first, indexed by `nights` */
export function cellNights(
  cell: KeyedCell,
  metric: MetricId,
  sweeps: readonly Sweep[],
  runs: readonly NightRun[],
): CellNights {
  const { byNight, leftOut } = fitRuns(sweeps, runs, metric);
  const { clock, nights, runs: counted } = measuredNights(byNight);
  const values = medianValues(counted, ({ value }) => value);
  return { cell, metric, leftOut, history: { nights, values, clock }, runs: counted };
}

/** Sweeps with runs that count, and what does not depend on the metric. @param byNight runs that count, one entry per sweep */
export function measuredNights<Run extends FitRun>(byNight: readonly (readonly Run[])[]) {
  const nights = byNight.flatMap(({ length }, night) => (length === 0 ? [] : [night]));
  const runs = byNight.filter(({ length }) => length > 0);
  return { nights, runs, clock: runs.map(clockOf) };
}

/** One value for each sweep: the median of its runs. */
export function medianValues<Run>(runs: readonly (readonly Run[])[], valueOf: (run: Run) => number): Float64Array {
  const values = new Float64Array(runs.length).fill(Number.NaN);
  for (let night = 0; night < runs.length; night += 1) {
    const kept = runs[night] ?? [];
    const [a, b, c] = kept;
    const middle =
      kept.length === 3 && a !== undefined && b !== undefined && c !== undefined
        ? middleOfThree(valueOf(a), valueOf(b), valueOf(c))
        : median(kept.map(valueOf));
    values[night] = middle ?? Number.NaN;
  }
  return values;
}
