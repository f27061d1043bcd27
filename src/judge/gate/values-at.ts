import type { GatedMetricId } from '../../records/gated-metric.ts';
import type { CellHistory } from '../history/noise.ts';
import type { CellEvidence } from './evidence.ts';
import type { NewestValues } from './limits.ts';

/** Values of some metrics in one of the sweeps, by its place. */
export function valuesAt(
  cells: readonly CellEvidence[],
  metrics: readonly GatedMetricId[],
  place: number,
): NewestValues {
  return valuesOf(cells, metrics, ({ nights, values }) => values[nights.indexOf(place)]);
}

/** Values of some metrics, each in the newest sweep that has one. */
export function newestValues(cells: readonly CellEvidence[], metrics: readonly GatedMetricId[]): NewestValues {
  return valuesOf(cells, metrics, ({ values }) => values.at(-1));
}

function valuesOf(
  cells: readonly CellEvidence[],
  metrics: readonly GatedMetricId[],
  valueIn: (history: CellHistory) => number | undefined,
): NewestValues {
  return new Map(
    cells.map(({ cell, metrics: measured }) => [
      cell.key,
      new Map(
        measured.flatMap(({ history, metric }): [GatedMetricId, number][] => {
          const value = metrics.includes(metric) ? valueIn(history) : undefined;
          return value === undefined ? [] : [[metric, value]];
        }),
      ),
    ]),
  );
}
