import {
  alignPoints,
  padEnd,
  padStart,
  textWidth,
  truncate,
  truncateDistinct,
  wrapHanging,
  wrapWords,
  type Look,
} from './look.ts';

export interface Column<Row> {
  readonly header: string;
  /** Header for a column that is too narrow for the full one. */
  readonly short?: string;
  readonly text: (row: Row) => string;
  readonly style?: (row: Row) => (text: string) => string;
  readonly align?: 'left' | 'right';
  /** On a narrow terminal, columns with a lower rank come first; 0 is always shown. */
  readonly dropRank?: number;
  /** The column may be truncated with an ellipsis down to this width. */
  readonly minWidth?: number;
  /** Long text wraps to the next line instead of being truncated. */
  readonly wraps?: true;
}

export function numberColumn<Row>(
  header: string,
  text: (row: Row) => string,
  dropRank: number = 0,
  more: Partial<Column<Row>> = {},
): Column<Row> {
  return textColumn(header, text, dropRank, { align: 'right', ...more });
}

export function textColumn<Row>(
  header: string,
  text: (row: Row) => string,
  dropRank: number,
  more: Partial<Column<Row>> = {},
): Column<Row> {
  return { header, text, dropRank, ...more };
}

const GAP = '  ';
/** Columns of a higher rank are omitted if texts would have to be truncated for them. */
const LAST_CUTTING_RANK = 4;

/**
 * Rows under their headers, never wider than the terminal; one line each, unless a column wraps. Texts must be
 * printable. Empty columns are omitted, decimal points are aligned, and columns without room are named below.
 */
export function renderTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], look: Look): string[] {
  const filled = columns
    .map((column) => pointed(column, rows))
    .filter((column) => rows.some((row) => column.text(row) !== ''));
  const laid = fit(filled, rows, look.columns).map(shortened);
  const linesOf = new Map(laid.map((entry) => [entry.column, linesIn(entry, rows)]));
  const line = (textOf: (entry: LaidColumn<Row>) => string): string => laid.map(textOf).join(GAP).trimEnd();
  const header = line(({ column, width }) => pad(headerOf(column, width), width, column.align));
  const lines = rows.flatMap((row) => {
    const texts = new Map(laid.map(({ column }) => [column, linesOf.get(column)?.(row) ?? []]));
    const height = Math.max(...[...texts.values()].map(({ length }) => length));
    return Array.from({ length: height }, (_, nth) =>
      line(({ column, width }) => {
        const text = pad(texts.get(column)?.[nth] ?? '', width, column.align);
        return column.style === undefined ? text : column.style(row)(text);
      }),
    );
  });
  const missing = filled.flatMap((column) => (column.header === '' || linesOf.has(column) ? [] : [column.header]));
  const note = `not shown at ${look.columns} columns: ${missing.join(', ')}`;
  return [
    look.style.dim(header),
    ...lines,
    ...(missing.length === 0 ? [] : wrapHanging(note, look.columns, 2).map(look.style.dim)),
  ];
}

function linesIn<Row>({ column, width }: LaidColumn<Row>, rows: readonly Row[]): (row: Row) => readonly string[] {
  if (column.wraps === true) return (row) => wrapWords(column.text(row), width);
  const cut = truncateDistinct(rows.map(column.text), width);
  return (row) => [cut.get(column.text(row)) ?? ''];
}

/** A column with a short header needs no more width than that header and its texts. */
function shortened<Row>(laid: LaidColumn<Row>): LaidColumn<Row> {
  const isWhole = textWidth(laid.column.header) <= laid.width;
  return isWhole ? laid : { ...laid, width: Math.min(laid.width, wholeWidth(laid)) };
}

function headerOf<Row>({ header, short }: Column<Row>, width: number): string {
  return short !== undefined && textWidth(header) > width ? truncate(short, width) : truncate(header, width);
}

function pointed<Row>(column: Column<Row>, rows: readonly Row[]): Column<Row> {
  if (column.align !== 'right') return column;
  const texts = alignPoints(rows.map(column.text));
  const aligned = new Map(rows.map((row, place) => [row, texts[place]]));
  return { ...column, text: (row) => aligned.get(row) ?? column.text(row) };
}

interface LaidColumn<Row> {
  readonly column: Column<Row>;
  readonly width: number;
  readonly content: number;
}

function fit<Row>(columns: readonly Column<Row>[], rows: readonly Row[], available: number): LaidColumn<Row>[] {
  const all = columns.map((column) => {
    const content = Math.max(0, ...rows.map((row) => textWidth(column.text(row))));
    return { column, content, width: Math.max(textWidth(column.header), content) };
  });
  if (totalWidth(all) <= available) return all;
  let kept = new Set([0]);
  for (const rank of [...new Set(all.map(rankOf))].toSorted((a, b) => a - b)) {
    const more = new Set([...kept, rank]);
    const leastOf = rank <= LAST_CUTTING_RANK ? cutWidth : wholeWidth;
    const least = all.filter((entry) => more.has(rankOf(entry))).map((entry) => ({ ...entry, width: leastOf(entry) }));
    if (totalWidth(least) <= available) kept = more;
  }
  const laid = all.filter((entry) => kept.has(rankOf(entry)));
  return shrink(laid, totalWidth(laid) - available);
}

function rankOf<Row>({ column }: LaidColumn<Row>): number {
  return column.dropRank ?? 0;
}

function wholeWidth<Row>({ column, content, width }: LaidColumn<Row>): number {
  return column.short === undefined ? width : Math.max(content, textWidth(column.short));
}

function cutWidth<Row>(entry: LaidColumn<Row>): number {
  const { minWidth } = entry.column;
  return minWidth === undefined ? wholeWidth(entry) : Math.min(wholeWidth(entry), minWidth);
}

/** Removes excess width from headers first and then from texts, the widest first. */
function shrink<Row>(laid: readonly LaidColumn<Row>[], excess: number): LaidColumn<Row>[] {
  let left = excess;
  const limits = [
    (entry: LaidColumn<Row>) => Math.max(entry.content, cutWidth(entry)),
    cutWidth,
    // Last, from headers wider than the least width of their column.
    (entry: LaidColumn<Row>) => Math.min(cutWidth(entry), Math.max(1, entry.content)),
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
  return laid.reduce((sum, { width }) => sum + width, GAP.length * Math.max(0, laid.length - 1));
}

function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  return align === 'right' ? padStart(text, width) : padEnd(text, width);
}
