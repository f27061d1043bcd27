import { flagWords } from '../records/axis.ts';
import { type Cell, type KeyedCell, harnessWords, optionWords, precisionName } from '../records/cell.ts';
import { type MetricId, metricOf } from '../records/metric.ts';
import { printable } from '../text/printable.ts';
import { type Look, wrapWords } from './look.ts';
import { formatMs, formatNumber, intervalText } from './numbers.ts';
import { type Column, numberColumn, renderTable, textColumn } from './table.ts';

/** The columns that name a cell in every table. The caption states once what all rows share. */
export function cellColumns<Row>(rows: readonly Row[], cellOf: (row: Row) => KeyedCell) {
  const cells = rows.map(cellOf);
  const { common, tail, withVia } = sharedBy(cells);
  const shape = tail === null ? { minWidth: 5 } : { short: 'b', minWidth: 3 };
  const columns: Column<Row>[] = [
    { header: 'model', text: (row) => printable(cellOf(row).model), minWidth: 10 },
    { header: 'precision', short: 'prec', text: (row) => precisionText(cellOf(row), withVia), minWidth: 4 },
    { header: 'shape', text: (row) => printable(shapeText(cellOf(row), tail)), ...shape },
    { header: 'options', text: (row) => printable(ownOptions(cellOf(row), common).join(' ')), minWidth: 8 },
  ];
  const shared = [tail === null ? '' : `…x${tail}`, ...common.map(printable)].filter(Boolean);
  return {
    columns,
    caption: shared.length === 0 ? null : `${cells.length === 1 ? 'the cell' : 'all cells'}: ${shared.join(', ')}`,
  };
}

function sharedBy(cells: readonly Cell[]) {
  const words = cells.map((cell) => new Set(optionList(cell)));
  const common = [...(words[0] ?? [])].filter((word) => words.every((set) => set.has(word)));
  const [ways, names] = [true, false].map((via) => new Set(cells.map((cell) => precisionText(cell, via))).size);
  const [tail = '', ...others] = new Set(cells.map(tailOf));
  return {
    common,
    /** Dimensions after the batch, when every cell has one input and they are equal. */
    tail: others.length === 0 && tail !== '' ? tail : null,
    /** True if one precision has two routes, so that its name does not show which. */
    withVia: ways !== names,
  };
}

function ownOptions(cell: Cell, common: readonly string[]): string[] {
  return optionList(cell).filter((word) => !common.includes(word));
}

/** Names of cells in one line without what all share, as in tables; command lines accept them. Not safe to print. */
export function shortNames(all: readonly Cell[]): (cell: Cell) => string {
  const { common, tail, withVia } = sharedBy(all);
  return (cell) => {
    const options = ownOptions(cell, common);
    return [cell.model, precisionText(cell, withVia), shapeText(cell, tail), ...options].filter(Boolean).join(' ');
  };
}

export function withCells<Row extends { readonly key: string }>(
  rows: readonly Row[],
  cells: ReadonlyMap<string, KeyedCell>,
): (Row & { readonly cell: KeyedCell })[] {
  return rows.flatMap((row) => {
    const cell = cells.get(row.key);
    return cell === undefined ? [] : [{ ...row, cell }];
  });
}

/**
 * A table of rows about cells. The name of the cell comes first (after `before`), and a caption states what all cells
 * share.
 * @param all all rows, of which some are shown
 */
export function cellTable<Row extends { readonly cell: KeyedCell }>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  look: Look,
  { all = rows, before = [] }: { readonly all?: readonly Row[]; readonly before?: readonly Column<Row>[] } = {},
): string[] {
  const about = cellColumns(all, ({ cell }) => cell);
  return [...renderTable([...before, ...about.columns, ...columns], rows, look), ...captionLines(about.caption, look)];
}

export function captionLines(caption: string | null, { columns, style }: Look): string[] {
  return caption === null ? [] : wrapWords(caption, columns).map(style.dim);
}

/** Dimensions after the batch of a single input; empty for several inputs. */
export function tailOf({ shapes }: Cell): string {
  const [only, ...others] = Object.values(shapes);
  return only !== undefined && others.length === 0 ? only.slice(1).join('x') : '';
}

export function precisionText(cell: Cell, withVia = true): string {
  const name = precisionName(cell);
  return withVia && cell.precisionVia === 'flag' ? `${name} (flag)` : name;
}

/** `8x3x224x224`, or `b8` if the caption has the rest; several inputs by name. */
export function shapeText({ shapes }: Cell, tail: string | null): string {
  const inputs = Object.entries(shapes);
  if (inputs.length > 1) return inputs.map(([input, dims]) => `${input}:${dims.join('x')}`).join(' ');
  const [batch, ...rest] = inputs[0]?.[1] ?? [];
  return tail === null || rest.length === 0 ? [batch, ...rest].join('x') : `b${batch}`;
}

export function optionList(cell: Cell): string[] {
  const by = harnessWords(cell);
  return [...optionWords(cell), ...flagWords(cell.axisFlags), ...(by === '' ? [] : [by])];
}

interface SideRow {
  readonly metric: MetricId;
  readonly unit: string;
  readonly ciPercent: readonly [number, number] | null;
}

/** Columns for two sides of cells and the change between them with its interval. A common unit is in the header. */
export function sideColumns<Row extends SideRow>(
  rows: readonly Row[],
  names: readonly [string, string],
  valuesOf: (row: Row) => readonly [number | null, number | null],
  change: Column<Row>,
): Column<Row>[] {
  const metrics = new Set(rows.map(({ metric }) => metric));
  const [unit = '', ...others] = new Set(rows.map((row) => printable(row.unit)));
  const isOneUnit = others.length === 0;
  const valueText = (row: Row, value: number | null): string => {
    const text = row.unit === 'ms' ? formatMs(value).replace(/ ms$/, '') : formatNumber(value);
    return isOneUnit || value === null ? text : `${text} ${printable(row.unit)}`;
  };
  const sides = ([0, 1] as const).map((side) =>
    numberColumn(`${names[side]}${isOneUnit ? ` ${unit}` : ''}`, (row: Row) => valueText(row, valuesOf(row)[side]), 2),
  );
  return [
    textColumn('metric', ({ metric }) => (metrics.size > 1 ? printable(metricOf(metric).label) : ''), 5),
    ...sides,
    { ...change, align: 'right' },
    numberColumn('95 % interval', ({ ciPercent }) => intervalText(ciPercent).replace(/ %$/, ''), 3),
  ];
}
