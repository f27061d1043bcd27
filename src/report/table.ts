import type { Look } from './look.ts';
import { padEnd, padStart, textWidth, truncate } from './text-width.ts';

export interface Column<Row> {
  readonly header: string;
  readonly text: (row: Row) => string;
  readonly style?: (row: Row) => (text: string) => string;
  readonly align?: 'left' | 'right';
  /** Columns with a higher number are left out first where the terminal is narrow; 0 is never left out. */
  readonly dropRank?: number;
  /** May be cut with an ellipsis down to this width. */
  readonly minWidth?: number;
}

const GAP = '  ';

/**
 * Rows under their headers, one line each and never wider than the terminal. Texts must be printable already. A
 * column in which every row is empty is left out.
 */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  look: Look,
): string[] {
  const filled = columns.filter((column) => rows.some((row) => column.text(row) !== ''));
  const laid = fit(filled, rows, look.columns);
  const header = laid
    .map(({ column, width }) => pad(truncate(column.header, width), width, column.align))
    .join(GAP);
  const lines = rows.map((row) =>
    laid
      .map(({ column, width }) => {
        const text = pad(truncate(column.text(row), width), width, column.align);
        return column.style === undefined ? text : column.style(row)(text);
      })
      .join(GAP)
      .trimEnd(),
  );
  return [look.style.dim(header.trimEnd()), ...lines];
}

interface LaidColumn<Row> {
  readonly column: Column<Row>;
  readonly width: number;
}

function fit<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  available: number,
): LaidColumn<Row>[] {
  let laid = columns.map((column) => ({
    column,
    width: Math.max(textWidth(column.header), ...rows.map((row) => textWidth(column.text(row)))),
  }));
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

/** Takes the excess from the columns that may be cut, the widest first. */
function shrink<Row>(laid: readonly LaidColumn<Row>[], excess: number): LaidColumn<Row>[] {
  const widths = laid.map(({ width }) => width);
  for (let left = excess; left > 0; left -= 1) {
    let widest = -1;
    laid.forEach(({ column }, index) => {
      const width = widths[index] ?? 0;
      const canShrink = column.minWidth !== undefined && width > column.minWidth;
      if (canShrink && (widest === -1 || width > (widths[widest] ?? 0))) widest = index;
    });
    if (widest === -1) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return laid.map(({ column }, index) => ({ column, width: widths[index] ?? 0 }));
}

function totalWidth<Row>(laid: readonly LaidColumn<Row>[]): number {
  return (
    laid.reduce((sum, { width }) => sum + width, 0) + GAP.length * Math.max(0, laid.length - 1)
  );
}

function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  return align === 'right' ? padStart(text, width) : padEnd(text, width);
}
