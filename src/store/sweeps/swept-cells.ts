import type { CellKey, SweepId } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import { plannedCells } from '../cells.ts';
import type { StoreDatabase } from '../file/open.ts';
import { cellKeysOf } from '../runs/runs.ts';
import { seriesUntil } from './find-sweeps.ts';
import { leftOutCellsOf } from './sweeps.ts';

export interface MatrixCells {
  /** That the sweep set out to measure, or has a run of. */
  readonly planned: ReadonlySet<CellKey>;
  /** Those of the same matrix that `--filter` or `--budget` left out; null where that is not known: of imports, and of an older bench. */
  readonly leftOut: ReadonlySet<CellKey> | null;
}

/** Which cells of its matrix, as it was then, a sweep planned. */
export function matrixCellsOf(db: StoreDatabase, sweepId: SweepId): MatrixCells {
  const planned = new Set([...plannedCells(db, [sweepId]), ...cellKeysOf(db, [sweepId])]);
  const leftOut = leftOutCellsOf(db, sweepId);
  return { planned, leftOut: leftOut === null ? null : new Set(leftOut.filter((key) => !planned.has(key))) };
}

/** A run whose numbers are a result: another process on the GPU makes them none, even where it shows no effect. */
const FIT_RUN = `r.role = 'timed' AND r.outcome = 'measured'
  AND NOT EXISTS (SELECT 1 FROM run_flags f WHERE f.run_id = r.run_id AND f.flag = 'contended')`;

/** Those of some sweeps that have a fit run of any cell. */
export function withFitRuns({ $client }: StoreDatabase, sweepIds: readonly SweepId[]): Set<SweepId> {
  const statement = $client.prepare<[string], SweepId>(
    `SELECT e.value FROM json_each(?) e WHERE EXISTS (SELECT 1 FROM runs r WHERE r.sweep_id = e.value AND ${FIT_RUN})`,
  );
  return new Set(statement.pluck().all(JSON.stringify(sweepIds)));
}

/** The cells of which a sweep has a fit run. */
function fitCells({ $client }: StoreDatabase): (sweepId: SweepId) => CellKey[] {
  const statement = $client.prepare<[SweepId], CellKey>(
    `SELECT DISTINCT r.cell_key FROM runs r WHERE r.sweep_id = ? AND r.cell_key IS NOT NULL AND ${FIT_RUN}`,
  );
  return (sweepId) => statement.pluck().all(sweepId);
}

/**
 * Of each cell the newest sweep of the series, this one or an earlier one, that has a fit run of it; a cell without any is
 * not in it. A filtered sweep adds to its cells so, and a sweep without a fit run of a cell is none for that cell.
 * @param options `cellKeys` default: the cells of the sweep's matrix; `matrices` the names that it has, or had; `limit` of
 *   the sweeps that are looked at
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

/** A cell that never had a fit run is looked for in all of them. */
const MOST_SWEEPS = 400;
