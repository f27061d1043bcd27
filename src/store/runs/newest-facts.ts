import type { CellRun } from '../../records/run.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import type { StoreDatabase } from '../file/open.ts';
import { cellRunsOf } from './cell-runs.ts';
import { hintsOf } from './layer-runs.ts';

export interface NewestRun extends CellRun {
  /** Ids of trtexec's hints. */
  readonly hints: readonly string[];
}

/** Of each cell its timed runs in the newest sweep that has any; cells without are absent. */
export function newestRunsOf(db: StoreDatabase, cellKeys: readonly CellKey[]): Map<CellKey, NewestRun[]> {
  const newest = new Map(
    db.$client
      .prepare<[string], { cellKey: CellKey; sweepId: SweepId }>(
        `SELECT e.value AS cellKey, last.sweep_id AS sweepId FROM json_each(?) e JOIN runs last ON last.run_id = (
           SELECT r.run_id FROM runs r INDEXED BY runs_by_cell WHERE r.cell_key = e.value AND r.role = 'timed'
           ORDER BY r.started_at DESC LIMIT 1)`,
      )
      .all(JSON.stringify(cellKeys))
      .map(({ cellKey, sweepId }) => [cellKey, sweepId]),
  );
  const runs = cellRunsOf(db, [...new Set(newest.values())], cellKeys).filter(
    ({ cellKey, role, sweepId }) => role === 'timed' && newest.get(cellKey) === sweepId,
  );
  const ids = runs.map(({ runId }) => runId);
  const hints = hintsOf(db, ids);
  const hinted = runs.map((run) => ({ ...run, hints: hints.get(run.runId) ?? [] }));
  return Map.groupBy(hinted, ({ cellKey }) => cellKey);
}
