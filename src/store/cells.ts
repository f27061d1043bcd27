import { inArray, sql } from 'drizzle-orm';

import type { KeyedCell } from '../records/cell.ts';
import { inLabelOrder } from '../records/cell-label.ts';
import type { StoreDatabase } from './file/open.ts';
import { cells, sweepCells } from './schema.ts';
import type { CellKey, SweepId } from '../records/scalars.ts';

function cellFrom(row: typeof cells.$inferSelect): KeyedCell {
  const { cellKey: key, keyVersion: _, harness, ...identity } = row;
  return { key, ...identity, ...(harness === null ? {} : { harness }) };
}

export function findCells(db: StoreDatabase, keys: readonly string[]): Map<string, KeyedCell> {
  const rows = db
    .select()
    .from(cells)
    .where(inArray(cells.cellKey, [...keys]))
    .all();
  return new Map(rows.map((row) => [row.cellKey, cellFrom(row)]));
}

export function allCells(db: StoreDatabase): KeyedCell[] {
  return inLabelOrder(db.select().from(cells).all().map(cellFrom));
}

export function plannedCells(db: StoreDatabase, sweepIds: readonly SweepId[]): Set<string> {
  const rows = db
    .select({ cellKey: sweepCells.cellKey })
    .from(sweepCells)
    .where(inArray(sweepCells.sweepId, [...sweepIds]))
    .all();
  return new Set(rows.map(({ cellKey }) => cellKey));
}

/** Removes those of some cells that no run, plan or finding refers to. */
export function removeUnusedCells(db: StoreDatabase, cellKeys: readonly CellKey[]): void {
  const used = ['runs WHERE cell_key IS NOT NULL', 'sweep_cells', 'finding_cells'].map(
    (table) => `SELECT cell_key FROM ${table}`,
  );
  db.run(
    sql`DELETE FROM cells WHERE cell_key IN (SELECT value FROM json_each(${JSON.stringify(cellKeys)})) AND cell_key NOT IN (${sql.raw(used.join(' UNION '))})`,
  );
}
