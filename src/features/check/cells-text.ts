import { gatedMetricOf } from '../../records/gated-metric.ts';
import type { Look } from '../../terminal/look.ts';
import { printable } from '../../text/printable.ts';
import { type CellRow, cellRows, hasMoved, worstFirst } from './cell-rows.ts';
import { changeText, isOfSpeed } from './change-text.ts';
import type { CheckedFinding, CheckedSeries } from './output.ts';
import type { SeriesPicture } from './picture.ts';

/** By its own metric: a cell that moved in another one says so, and what is no speed leaves it as it is. */
export function rowsOf(
  { cells }: CheckedSeries,
  findings: readonly CheckedFinding[],
  picture: SeriesPicture,
): CellRow[] {
  return cells.flatMap((checked): CellRow[] => {
    const { key, metric, verdict } = checked;
    const drawn = picture.cells.get(key);
    const values = drawn?.valuesOf(metric);
    if (drawn === undefined || values === undefined) return [];
    const row = { ...checked, cell: drawn.cell, values };
    if (verdict !== 'slower' && verdict !== 'faster') return [row];
    const own = findings.filter((finding) => finding.direction === verdict && finding.kind !== 'limit');
    const changes = own.flatMap(({ details }) => details).filter((change) => change.key === key);
    if (changes.length === 0 || changes.some((change) => change.metric === metric)) return [row];
    const other = changes.find((change) => isOfSpeed({ details: [change] }));
    if (other === undefined) return [{ ...row, verdict: 'same' }];
    return [{ ...row, otherChange: `${printable(gatedMetricOf(other.metric).label)} ${changeText(other)}` }];
  });
}

/** Rows of cells that moved, unless all are asked for. */
const SHOWN_ROWS = 12;

/** A line a cell, the largest change first; the others are folded. */
export function cellsText(all: readonly CellRow[], isAll: boolean, look: Look): string[] {
  const rows = worstFirst(all);
  const moved = rows.filter(hasMoved);
  const shown = isAll ? rows : moved.slice(0, SHOWN_ROWS);
  if (shown.length === 0) return [];
  const fold = [
    ...(moved.length > shown.length ? [`${moved.length - shown.length} more`] : []),
    ...(isAll || rows.length === moved.length ? [] : [`${rows.length - moved.length} others`]),
  ].join(', ');
  return ['', ...cellRows(shown, rows, 'sweeps', look), ...(fold === '' ? [] : [look.style.dim(`${fold}: --all`)])];
}
