import type { KeyedCell } from '../records/cell.ts';
import { cellLabel } from '../text/cell-label.ts';
import { UsageError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { cellFields, CELL_FIELDS, flagFields } from '../matrix/cells/cell-fields.ts';
import { readFilter } from '../matrix/cells/filter-expression.ts';
import { didYouMean } from '../text/nearest.ts';

/** The cells that a `--filter` keeps. */
export function chooseCells(cells: readonly KeyedCell[], expression: string | undefined): KeyedCell[] {
  if (expression === undefined) return [...cells];
  const reading = readFilter(expression, [...CELL_FIELDS, ...flagFields(cells)]);
  if (reading.kind === 'faulty') {
    throw new UsageError(`${printable(expression)}, at character ${reading.offset + 1}: ${reading.problem}`);
  }
  return cells.filter((cell) => reading.filter(cellFields(cell)));
}

const SHORTEST_KEY = 4;

/**
 * The cells that somebody named: each name is the start of a key, a label, a model, or a filter expression. None
 * named means all.
 */
export function namedCells(cells: readonly KeyedCell[], names: readonly string[]): KeyedCell[] {
  if (names.length === 0) return [...cells];
  const chosen = new Set(names.flatMap((name) => cellsOfName(cells, name)));
  return cells.filter((cell) => chosen.has(cell));
}

function cellsOfName(cells: readonly KeyedCell[], name: string): KeyedCell[] {
  const isKey = /^[0-9a-f]+$/.test(name) && name.length >= SHORTEST_KEY;
  const byKey = isKey ? cells.filter(({ key }) => key.startsWith(name)) : [];
  if (byKey.length > 0) return byKey;
  const byName = cells.filter((cell) => cell.model === name || cellLabel(cell) === name);
  if (byName.length > 0) return byName;
  if (/[=<>]/.test(name)) {
    const found = chooseCells(cells, name);
    if (found.length > 0) return found;
  }
  const known = [...new Set(cells.flatMap((cell) => [cell.model, cellLabel(cell)]))];
  throw new UsageError(
    `no cell ${printable(name)}${printable(didYouMean(name, known))} (name it by key, model, label or expression; see \`bench ls cells\`)`,
  );
}
