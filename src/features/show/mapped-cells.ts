import { UsageError } from '../../errors.ts';
import { median } from '../../statistics/median.ts';
import { type MetricId, metricOf } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import type { CellSummary } from './swept.ts';
import type { MappedCell } from '../../terminal/charts/value-map.ts';
import type { CellRun } from '../../store/runs/cell-runs.ts';

/**
 * What a map shows of each cell: the metric that is asked for, else what the table shows.
 * @throws UsageError when no cell can have what is asked for
 */
export function mappedCells(
  cells: readonly CellSummary[],
  runs: readonly CellRun[],
  asked: MetricId | null,
): readonly MappedCell[] {
  if (asked === null) return cells;
  const measured = runs.filter(({ role, outcome }) => role === 'timed' && outcome.kind === 'measured');
  const byCell = Map.groupBy(measured, ({ cellKey }) => cellKey);
  const mapped = cells.flatMap(({ cell }) => {
    const values = (byCell.get(cell.key) ?? []).flatMap((run) => run.values[asked] ?? []);
    // A harness has its own numbers: where another one is asked for it says nothing.
    return values.length === 0 && cell.harness !== undefined && cell.harness.metric !== asked
      ? []
      : [{ cell, metric: asked, value: median(values) }];
  });
  if (mapped.length > 0) return mapped;
  throw new UsageError(`--metric ${printable(metricOf(asked).label)}: no cell of this sweep has it`);
}
