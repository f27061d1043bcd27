import { disturbedCells } from '../../judge/run-trust.ts';
import type { Plan, PlannedRun } from '../../records/plan.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';

/**
 * One more run for each disturbed run, counted from the store so that a resume does not add runs twice.
 * @param recorded number of recorded runs per cell; null for a real trtexec
 */
export function runsToMeasureAgain(
  db: StoreDatabase,
  sweepId: SweepId,
  plan: Plan,
  recorded: ((cellKey: CellKey) => number) | null,
): PlannedRun[] {
  const disturbed = disturbedCells(cellRunsOf(db, [sweepId]), plan.repeats);
  return disturbed.flatMap(({ cellKey, missing, highestRepeat }) => {
    const planned = plan.runs.find((run) => run.role === 'timed' && run.cellKey === cellKey);
    const limit = recorded?.(cellKey) ?? Number.POSITIVE_INFINITY;
    if (planned === undefined) return [];
    return Array.from({ length: missing }, (_, place) => ({ ...planned, repeat: highestRepeat + 1 + place })).filter(
      ({ repeat }) => repeat <= limit,
    );
  });
}
