import { type KeyedCell, inLabelOrder } from '../records/cell.ts';
import { isAmong, textsIn } from './conditions.ts';
import type { StoreDatabase } from './file/open.ts';
import { cells, sweepCells } from './schema.ts';
import type { SweepId } from '../records/scalars.ts';

function cellFrom(row: typeof cells.$inferSelect): KeyedCell {
  const { cellKey: key, keyVersion: _, harness, ...identity } = row;
  return { key, ...identity, ...(harness === null ? {} : { harness }) };
}

export function findCells(db: StoreDatabase, keys: readonly string[]): Map<string, KeyedCell> {
  const rows = db.select().from(cells).where(isAmong(cells.cellKey, keys)).all();
  return new Map(rows.map((row) => [row.cellKey, cellFrom(row)]));
}

export function allCells(db: StoreDatabase): KeyedCell[] {
  return inLabelOrder(db.select().from(cells).all().map(cellFrom));
}

export function plannedCells(db: StoreDatabase, sweepIds: readonly SweepId[]): Set<string> {
  return new Set(textsIn(db, sweepCells.cellKey, isAmong(sweepCells.sweepId, sweepIds)));
}
