import type { CellKey, SweepId } from '../../records/scalars.ts';
import { plannedCells } from '../cells.ts';
import type { StoreDatabase } from '../file/open.ts';
import { cellKeysOf } from '../runs/runs.ts';
import { FIT_RUN } from './find-sweeps.ts';
import { leftOutCellsOf } from './sweeps.ts';

/**
 * Cells of the sweep's matrix at that time: those that it planned or has runs of, and those that `--filter` or
 * `--budget` left out. The latter are null if unknown: for imports, and for sweeps of older versions.
 */
export function matrixCellsOf(db: StoreDatabase, sweepId: SweepId) {
  const planned = new Set([...plannedCells(db, [sweepId]), ...cellKeysOf(db, [sweepId])]);
  const leftOut = leftOutCellsOf(db, sweepId);
  return { planned, leftOut: leftOut === null ? null : new Set(leftOut.filter((key) => !planned.has(key))) };
}

/** Cells of the sweep of which every run is a capture for a profiler, which is never judged. */
export function capturedCells({ $client }: StoreDatabase, sweepId: SweepId): Set<string> {
  const statement = $client.prepare<[SweepId], CellKey>(
    `SELECT r.cell_key FROM runs r LEFT JOIN run_flags f ON f.run_id = r.run_id AND f.flag = 'capture'
      WHERE r.sweep_id = ? AND r.role = 'timed' AND r.cell_key IS NOT NULL
      GROUP BY r.cell_key HAVING count(*) = count(f.run_id)`,
  );
  return new Set(statement.pluck().all(sweepId));
}

/** IDs of the sweeps that have a fit run of any cell. */
export function withFitRuns({ $client }: StoreDatabase, sweepIds: readonly SweepId[]): Set<SweepId> {
  const statement = $client.prepare<[string], SweepId>(
    `SELECT e.value FROM json_each(?) e WHERE EXISTS (SELECT 1 FROM runs r WHERE r.sweep_id = e.value AND ${FIT_RUN})`,
  );
  return new Set(statement.pluck().all(JSON.stringify(sweepIds)));
}
