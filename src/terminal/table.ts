import { alignPoints, padEnd, padStart, textWidth, truncate, wrapHanging } from './text-width.ts';
import type { Look } from './look.ts';

export interface Column<Row> {
  readonly header: string;
  /** Header for a column that is too narrow for the full one. */
  readonly short?: string;
  readonly text: (row: Row) => string;
  readonly style?: (row: Row) => (text: string) => string;
  readonly align?: 'left' | 'right';
  /** Columns with a higher number are dropped first on a narrow terminal; 0 is never dropped. */
  readonly dropRank?: number;
  /** May be cut with an ellipsis down to this width. */
  readonly minWidth?: number;
  /** Identifies a row: two rows must not have the same texts in all of these. */
  readonly isIdentity?: true;
  /** Shown only if the identities of two rows, as truncated, would be equal. */
  readonly onlyIfAmbiguous?: true;
}

const GAP = '  ';

/**
 * Rows under their headers, one line each, never wider than the terminal. Texts must be printable. Empty columns are
 * left out, decimal points are aligned, and columns without room are named below.
 */
export function renderTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], look: Look): string[] {
  const filled = columns
    .map((column) => pointed(column, rows))
    .filter((column) => rows.some((row) => column.text(row) !== ''));
  const laid = layOut(filled, rows, look.columns);
  const header = laid.map(({ column, width }) => pad(headerOf(column, width), width, column.align)).join(GAP);
  const lines = rows.map((row) =>
    laid
      .map(({ column, width }) => {
        const text = pad(truncate(column.text(row), width), width, column.align);
        return column.style === undefined ? text : column.style(row)(text);
      })
      .join(GAP)
      .trimEnd(),
  );
  const missing = leftOut(filled, laid);
  const note = `not shown at ${look.columns} columns: ${missing.join(', ')}`;
  return [
    look.style.dim(header.trimEnd()),
    ...lines,
    ...(missing.length === 0 ? [] : wrapHanging(note, look.columns, 2).map(look.style.dim)),
  ];
}

function layOut<Row>(columns: readonly Column<Row>[], rows: readonly Row[], available: number): LaidColumn<Row>[] {
  const usual = columns.filter(({ onlyIfAmbiguous }) => onlyIfAmbiguous !== true);
  const laid = fit(usual, rows, available).map(shortened);
  return areAmbiguous(columns, laid, rows) ? fit(columns, rows, available).map(shortened) : laid;
}

/** True if two different rows have equal texts in their identifying columns. */
function areAmbiguous<Row>(
  columns: readonly Column<Row>[],
  laid: readonly LaidColumn<Row>[],
  rows: readonly Row[],
): boolean {
  const visible = columns.filter(({ onlyIfAmbiguous }) => onlyIfAmbiguous === true);
  if (visible.length === 0) return false;
  const seen = new Map<string, string>();
  return rows.some((row) => {
    const reads = laid
      .filter(({ column }) => column.isIdentity === true)
      .map(({ column, width }) => truncate(column.text(row), width))
      .join('\0');
    const cells = visible.map((column) => column.text(row)).join('\0');
    const before = seen.get(reads);
    seen.set(reads, cells);
    return before !== undefined && before !== cells;
  });
}

function leftOut<Row>(columns: readonly Column<Row>[], laid: readonly LaidColumn<Row>[]): string[] {
  const shown = new Set(laid.map(({ column }) => column));
  return columns
    .filter((column) => !shown.has(column) && column.onlyIfAmbiguous !== true && column.header !== '')
    .map(({ header }) => header);
}

/** A column with a short header is no wider than that header and its texts. */
function shortened<Row>(laid: LaidColumn<Row>): LaidColumn<Row> {
  const { column, width, content } = laid;
  return column.short === undefined || textWidth(column.header) <= width
    ? laid
    : { ...laid, width: Math.min(width, Math.max(content, textWidth(column.short))) };
}

function headerOf<Row>({ header, short }: Column<Row>, width: number): string {
  return short !== undefined && textWidth(header) > width ? truncate(short, width) : truncate(header, width);
}

/** Pads texts so that decimal points align. */
function pointed<Row>(column: Column<Row>, rows: readonly Row[]): Column<Row> {
  if (column.align !== 'right') return column;
  const texts = rows.map((row) => column.text(row));
  const aligned = new Map(alignPoints(texts).map((text, place) => [texts[place], text]));
  return {
    ...column,
    text: (row) => {
      const text = column.text(row);
      return aligned.get(text) ?? text;
    },
  };
}

interface LaidColumn<Row> {
  readonly column: Column<Row>;
  readonly width: number;
  readonly content: number;
}

function fit<Row>(columns: readonly Column<Row>[], rows: readonly Row[], available: number): LaidColumn<Row>[] {
  let laid = columns.map((column) => {
    const content = Math.max(0, ...rows.map((row) => textWidth(column.text(row))));
    return { column, content, width: Math.max(textWidth(column.header), content) };
  });
  while (totalWidth(laid) > available) {
    const rank = Math.max(...laid.map(({ column }) => column.dropRank ?? 0));
    const excess = totalWidth(laid) - available;
    const slack = laid.reduce((sum, entry) => sum + slackOf(entry), 0);
    if (slack >= excess || rank === 0) return shrink(laid, excess);
    laid = laid.filter(({ column }) => (column.dropRank ?? 0) < rank);
  }
  return laid;
}

function slackOf<Row>({ column, width }: LaidColumn<Row>): number {
  return column.minWidth === undefined ? 0 : Math.max(0, width - column.minWidth);
}

/** Cuts excess width: from headers, then from texts, the widest first. */
function shrink<Row>(laid: readonly LaidColumn<Row>[], excess: number): LaidColumn<Row>[] {
  let left = excess;
  const limits = [
    ({ column, content }: LaidColumn<Row>) => Math.max(column.minWidth ?? Infinity, content),
    ({ column }: LaidColumn<Row>) => column.minWidth ?? Infinity,
    // Last, headers wider than the least width of their column.
    ({ column, content }: LaidColumn<Row>) =>
      column.minWidth === undefined ? Infinity : Math.min(column.minWidth, Math.max(1, content)),
  ];
  let narrowed = [...laid];
  for (const limitOf of limits) {
    for (; left > 0; left -= 1) {
      const candidates = narrowed.filter((entry) => entry.width > limitOf(entry));
      const widest = Math.max(...candidates.map(({ width }) => width));
      const chosen = candidates.find(({ width }) => width === widest);
      if (chosen === undefined) break;
      narrowed = narrowed.map((entry) => (entry === chosen ? { ...entry, width: entry.width - 1 } : entry));
    }
  }
  return narrowed;
}

function totalWidth<Row>(laid: readonly LaidColumn<Row>[]): number {
  return laid.reduce((sum, { width }) => sum + width, 0) + GAP.length * Math.max(0, laid.length - 1);
}

function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  return align === 'right' ? padStart(text, width) : padEnd(text, width);
}
