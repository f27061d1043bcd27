import type { SweepEvidence } from '../../judge/gate/evidence.ts';
import { valuesByPlace } from '../../judge/geometric-mean.ts';
import { environmentMarks, type TrendMark } from '../../judge/trend.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { GatedMetricId } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';

/** A cell over the sweeps that it was judged by. */
export interface CellPicture {
  readonly cell: KeyedCell;
  /** By which it is compared. */
  readonly metric: GatedMetricId | null;
  /** Values by sweep, oldest first; null where it has none. Undefined of a metric that is not measured. */
  readonly valuesOf: (metric: GatedMetricId) => readonly (number | null)[] | undefined;
  /** Steps are sweeps. */
  readonly environmentMarks: readonly TrendMark[];
}

/** What a series is drawn from; not part of `--json`. */
export interface SeriesPicture {
  /** Oldest first. */
  readonly sweeps: readonly { readonly sweepId: string; readonly date: string | null }[];
  readonly cells: ReadonlyMap<CellKey, CellPicture>;
  /** GPU and TensorRT of the newest sweep, where all its cells have the same. */
  readonly machine: readonly string[];
  /** By which its cells are shown; null where they differ. */
  readonly metric: GatedMetricId | null;
}

export function pictureOf({ cells, environments, sweeps }: SweepEvidence): SeriesPicture {
  const newest = cells.flatMap(({ environmentIds }) => environments.get(environmentIds.at(-1) ?? '') ?? []);
  return {
    sweeps: sweeps.map(({ sweepId, startedAt }) => ({ sweepId, date: startedAt?.slice(0, 10) ?? null })),
    cells: new Map(
      cells.map((one) => [
        one.cell.key,
        {
          cell: one.cell,
          // Few of thousands of cells are drawn.
          valuesOf(metric: GatedMetricId) {
            const measured = one.metrics.find((history) => history.metric === metric);
            const values = measured === undefined ? [] : valuesByPlace(measured.history);
            return measured === undefined ? undefined : sweeps.map((_, place) => values[place] ?? null);
          },
          metric: one.metrics[0]?.metric ?? null,
          get environmentMarks() {
            return environmentMarks(one.environmentIds.map((id) => environments.get(id ?? '') ?? null));
          },
        },
      ]),
    ),
    machine: [
      ...shared(newest.map(({ gpuName }) => gpuName)),
      ...shared(newest.map(({ tensorrt }) => tensorrt)).map((version) => `TensorRT ${version}`),
    ],
    metric: ownMetricOf(cells),
  };
}

function shared(texts: readonly (string | null)[]): string[] {
  const [only = null, ...others] = new Set(texts);
  return only === null || others.length > 0 ? [] : [only];
}

function ownMetricOf(cells: SweepEvidence['cells']): GatedMetricId | null {
  const metrics = new Set(cells.flatMap(({ metrics: [main] }) => main?.metric ?? []));
  const [only = null] = metrics;
  return metrics.size === 1 ? only : null;
}
