import type { KeyedCell } from '../records/cell.ts';
import { cellLabel } from '../records/cell-label.ts';
import type { Plan } from '../records/plan.ts';
import { plannedBuildOf } from '../engines/engine-state.ts';
import { failureOf, type SweepFailure } from '../terminal/failure-section.ts';
import { findCells } from '../store/cells.ts';
import { type FailedRun, failedRunsOf } from '../store/runs/runs.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import type { SweepId } from '../records/scalars.ts';

/** @param plan null for imports, which have no plan */
export function sweepFailures(db: StoreDatabase, sweepId: SweepId, plan: Plan | null): SweepFailure[] {
  const failed = failedRunsOf(db, sweepId);
  const keys = failed.flatMap(({ cellKey }) => cellKey ?? []);
  const cells = findCells(db, keys);
  return failed.map((run) => failureOf({ ...run, label: labelOf(run, sweepId, plan, cells) }));
}

function labelOf(
  { runId, cellKey, buildModel }: FailedRun,
  sweepId: SweepId,
  plan: Plan | null,
  cells: ReadonlyMap<string, KeyedCell>,
): string {
  const cell = cellKey === null ? undefined : cells.get(cellKey);
  if (cell !== undefined) return cellLabel(cell);
  const build = plan === null ? null : plannedBuildOf(plan, sweepId, runId);
  return build?.label ?? buildModel ?? 'unnamed';
}
