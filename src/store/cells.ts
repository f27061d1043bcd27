import { inArray } from 'drizzle-orm';

import type { CellInputs, KeyedCell, Shapes } from '../records/cell.ts';
import { inLabelOrder } from '../text/cell-label.ts';
import { StoreError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { isRecord } from '../text/unknown-values.ts';
import type { StoreDatabase } from './file/open.ts';
import { cells, sweepCells } from './schema.ts';

type CellRow = typeof cells.$inferSelect;

function cellFrom(row: CellRow): KeyedCell {
  return {
    key: row.cellKey,
    model: row.model,
    precision: row.precision,
    precisionVia: row.precisionVia,
    shapes: readShapes(row.shapes),
    cudaGraph: statedOrNull(row.cudaGraph),
    dataTransfers: statedOrNull(row.dataTransfers),
    streams: row.streams,
    spinWait: statedOrNull(row.spinWait),
    inputs: readInputs(row.inputs),
    axisFlags: readTexts(JSON.parse(row.axisFlags)),
    ...(row.harness === null ? {} : { harness: row.harness }),
  };
}

function statedOrNull(value: boolean | 'unstated'): boolean | null {
  return value === 'unstated' ? null : value;
}

/** zod would do the same, and would cost every `compare` a tenth of its start-up. */
function readShapes(text: string): Shapes {
  const parsed: unknown = JSON.parse(text);
  const entries = Object.entries(isRecord(parsed) ? parsed : {});
  return Object.fromEntries(entries.map(([input, dims]) => [input, dimensionsOf(dims, text)]));
}

/** @throws StoreError for what is no dimension: without it the cell would be called like another one */
function dimensionsOf(dims: unknown, text: string): number[] {
  if (!Array.isArray(dims)) throw damagedShapes(text);
  return dims.map((dimension: unknown) => {
    if (typeof dimension !== 'number') throw damagedShapes(text);
    return dimension;
  });
}

function damagedShapes(text: string): StoreError {
  return new StoreError(
    `the store is damaged: ${printable(text)} are no shapes of a cell; \`bench db verify\` says more of it`,
  );
}

function readInputs(text: string): CellInputs {
  const parsed: unknown = JSON.parse(text);
  if (!isRecord(parsed) || parsed['kind'] !== 'files') return { kind: 'random' };
  return { kind: 'files', sha256ByInput: readTexts(parsed['sha256ByInput']) };
}

function readTexts(value: unknown): Record<string, string> {
  const entries = Object.entries(isRecord(value) ? value : {});
  return Object.fromEntries(entries.map(([key, text]) => [key, String(text)]));
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

/** Cells that the sweeps set out to measure, whether or not there is a run of them. */
export function plannedCells(db: StoreDatabase, sweepIds: readonly string[]): Set<string> {
  const rows = db
    .select({ cellKey: sweepCells.cellKey })
    .from(sweepCells)
    .where(inArray(sweepCells.sweepId, [...sweepIds]))
    .all();
  return new Set(rows.map(({ cellKey }) => cellKey));
}
