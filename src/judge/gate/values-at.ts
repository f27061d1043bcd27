import type { GatedMetricId } from '../../records/gated-metric.ts';
import type { CellEvidence } from './evidence.ts';
import type { NewestValues } from './limits.ts';

/** Values of some metrics in one of the sweeps, by its place. */
export function valuesAt(
  cells: readonly CellEvidence[],
  metrics: readonly GatedMetricId[],
  place: number,
): NewestValues {
  return new Map(
    cells.map(({ cell, metrics: measured }) => [
      cell.key,
      new Map(
        measured.flatMap(({ history, metric }): [GatedMetricId, number][] => {
          const value = metrics.includes(metric) ? history.values[history.nights.indexOf(place)] : undefined;
          return value === undefined ? [] : [[metric, value]];
        }),
      ),
    ]),
  );
}
