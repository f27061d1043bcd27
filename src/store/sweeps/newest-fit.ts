import type { CellKey, SweepId } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../file/open.ts';
import { FIT_RUN, seriesUntil } from './find-sweeps.ts';
import { matrixCellsOf } from './swept-cells.ts';

/**
 * Maps each cell to the newest sweep, up to this one, that has a fit run of it; omits cells without any. Thus a
 * filtered sweep, or one without a fit run of a cell, does not replace earlier results of that cell.
 * @param options `cellKeys` default: the cells of the sweep's matrix; `matrices`: its current and former names;
 * `limit`: largest number of sweeps to search
 */
export function newestFitSweeps(
  db: StoreDatabase,
  sweep: Sweep,
  options: {
    readonly cellKeys?: Iterable<CellKey>;
    readonly matrices?: readonly (string | null)[];
    readonly limit?: number;
  } = {},
): Map<CellKey, Sweep> {
  const { planned, leftOut } = matrixCellsOf(db, sweep.sweepId);
  const wanted = new Set(options.cellKeys ?? [...planned, ...(leftOut ?? [])]);
  const found = new Map<CellKey, Sweep>();
  const cellsOf = fitCells(db);
  for (const one of seriesUntil(db, sweep, options.limit ?? MOST_SWEEPS, options.matrices)) {
    if (found.size === wanted.size) break;
    for (const key of cellsOf(one.sweepId)) if (wanted.has(key) && !found.has(key)) found.set(key, one);
  }
  return found;
}

/** Maximum number of sweeps searched for a cell that never had a fit run. */
const MOST_SWEEPS = 400;

function fitCells({ $client }: StoreDatabase): (sweepId: SweepId) => CellKey[] {
  const statement = $client.prepare<[SweepId], CellKey>(
    `SELECT DISTINCT r.cell_key FROM runs r WHERE r.sweep_id = ? AND r.cell_key IS NOT NULL AND ${FIT_RUN}`,
  );
  return (sweepId) => statement.pluck().all(sweepId);
}
