import { cellNights, type CellNights } from '../judge/gate/judge-cell.ts';
import { machineKey } from '../judge/machine-key.ts';
import type { KeyedCell } from '../records/cell.ts';
import { gateMetric, type MetricId } from '../records/metric.ts';
import type { NightRun } from '../judge/sweep-run.ts';
import type { Sweep } from '../records/sweep.ts';
import { findEnvironments } from '../store/sweeps/environments.ts';
import { nightRuns } from '../store/runs/sweep-values.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import type { ValueKind } from '../judge/value-kind.ts';

export interface CellHistory extends CellNights {
  /** Nights that only have numbers of the kind that does not count. */
  readonly nightsOfOtherKind: number;
  /** Nights that were only measured on another machine than the newest one: they do not count. */
  readonly nightsOfOtherMachine: number;
}

/**
 * The nights of each cell among some sweeps.
 * @param sweeps the oldest first
 * @param machines `newest`: only nights on the machine of the newest one, as others are another history
 * @param kinds which number of a run counts, by the key of the cell; without it what all nights of the cell have
 */
export function cellHistories(
  db: StoreDatabase,
  sweeps: readonly Sweep[],
  cells: readonly KeyedCell[],
  asked: MetricId | null,
  machines: 'newest' | 'all' = 'newest',
  kinds?: ReadonlyMap<string, ValueKind>,
): CellHistory[] {
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const byMetric = Map.groupBy(cells, (cell) => gateMetric(asked, cell));
  const found = new Map(
    [...byMetric.keys()].map((metric) => {
      const { runs, otherKind } = nightRuns(db, ids, metric, kinds);
      return [metric, { runs: Map.groupBy(runs, ({ cellKey }) => cellKey), otherKind }];
    }),
  );
  const sameMachine = machineFilter(
    db,
    [...found.values()].flatMap(({ runs }) => [...runs.values()].flat()),
  );
  return cells.map((cell) => {
    const metric = gateMetric(asked, cell);
    const { runs, otherKind } = found.get(metric) ?? {};
    const all = runs?.get(cell.key) ?? [];
    const kept = machines === 'all' ? all : sameMachine(all, ids);
    return {
      ...cellNights(cell, metric, sweeps, kept),
      nightsOfOtherKind: otherKind?.get(cell.key)?.size ?? 0,
      nightsOfOtherMachine: sweepsOf(all).size - sweepsOf(kept).size,
    };
  });
}

function sweepsOf(runs: readonly NightRun[]): Set<string> {
  return new Set(runs.map(({ sweepId }) => sweepId));
}

/** Only nights on the GPU model, TensorRT major and locked clock of the newest one: others are another history. */
function machineFilter(db: StoreDatabase, runs: readonly NightRun[]) {
  const environments = findEnvironments(db, [...new Set(runs.map(({ environmentId }) => environmentId))]);
  const machineOf = ({ environmentId }: NightRun): string => machineKey(environments.get(environmentId));
  return (ofCell: readonly NightRun[], sweepIds: readonly string[]): readonly NightRun[] => {
    const places = new Map(sweepIds.map((id, place) => [id, place]));
    const placeOf = ({ sweepId }: NightRun): number => places.get(sweepId) ?? -1;
    const newest = ofCell.reduce<NightRun | null>(
      (found, run) => (found === null || placeOf(run) > placeOf(found) ? run : found),
      null,
    );
    if (newest === null) return ofCell;
    const machine = machineOf(newest);
    return ofCell.filter((run) => machineOf(run) === machine);
  };
}
