import type { KeyedCell } from '../../records/cell.ts';
import type { MetricId } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { median } from '../../statistics/median.ts';
import type { NightlyValues } from '../history/noise.ts';
import type { NightRun } from '../value-rule.ts';
import { clockOf, type FitRun, fitRuns, type LeftOutRun } from './fit-runs.ts';

/** The history of a cell in a series. */
export interface CellNights {
  readonly cell: KeyedCell;
  readonly metric: MetricId;
  readonly history: NightlyValues;
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
  return { cell, metric, leftOut, ...historyOfRuns(byNight, ({ value }) => value) };
}

/** One value for each sweep that has one: the median of its runs. @param byNight runs that count, one entry per sweep */
export function historyOfRuns<Run extends FitRun>(byNight: readonly (readonly Run[])[], valueOf: (run: Run) => number) {
  const measured = byNight.flatMap((kept, night) => {
    const value = median(kept.map(valueOf));
    return value === null ? [] : [{ night, value, kept }];
  });
  return {
    history: {
      nights: measured.map(({ night }) => night),
      values: Float64Array.from(measured, ({ value }) => value),
      clock: measured.map(({ kept }) => clockOf(kept)),
    },
    runs: measured.map(({ kept }) => kept),
  };
}
