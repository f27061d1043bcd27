import type { KeyedCell } from '../domain/cell.ts';
import { median } from '../domain/median.ts';
import type { MetricId } from '../domain/metrics.ts';
import type { MappedCell } from '../report/value-map.ts';
import type { CellRun } from '../store/cell-runs.ts';

/** What a map shows of each cell: the metric that is asked for, else what its harness is judged by. */
export function mappedCells(
  cells: readonly KeyedCell[],
  runs: readonly CellRun[],
  asked: MetricId | null,
): MappedCell[] {
  const measured = runs.filter(
    ({ role, outcome }) => role === 'timed' && outcome.kind === 'measured',
  );
  const byCell = Map.groupBy(measured, ({ cellKey }) => cellKey);
  return cells.map((cell) => {
    const metric = asked ?? cell.harness?.metric ?? 'gpuComputeMs';
    const values = (byCell.get(cell.key) ?? []).flatMap((run) => run.values[metric] ?? []);
    return { cell, metric, value: median(values) };
  });
}
