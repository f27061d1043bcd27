import type { Look } from '../../terminal/look.ts';
import { type CellRow, cellRows, hasMoved, worstFirst } from './cell-rows.ts';
import type { CheckedSeries } from './output.ts';
import type { SeriesPicture } from './picture.ts';

/** Rows of cells that moved, unless all are asked for. */
const SHOWN_ROWS = 12;

/** A line a cell, the largest change first; steady cells are folded. */
export function cellsText({ cells }: CheckedSeries, picture: SeriesPicture, isAll: boolean, look: Look): string[] {
  const rows = worstFirst(
    cells.flatMap((checked): CellRow[] => {
      const drawn = picture.cells.get(checked.key);
      const values = drawn?.histories.get(checked.metric);
      return drawn === undefined || values === undefined ? [] : [{ ...checked, cell: drawn.cell, values }];
    }),
  );
  const moved = rows.filter(hasMoved);
  const shown = isAll ? rows : moved.slice(0, SHOWN_ROWS);
  if (shown.length === 0) return [];
  const fold = [
    ...(moved.length > shown.length ? [`${moved.length - shown.length} more`] : []),
    ...(isAll || rows.length === moved.length ? [] : [`${rows.length - moved.length} steady`]),
  ].join(', ');
  return ['', ...cellRows(shown, rows, 'sweeps', look), ...(fold === '' ? [] : [look.style.dim(`${fold}: --all`)])];
}
