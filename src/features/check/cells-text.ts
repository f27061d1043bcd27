import type { KeyedCell } from '../../records/cell.ts';
import { cellTable } from '../../terminal/cell-columns.ts';
import { scalePercent, sparkline } from '../../terminal/charts/sparkline.ts';
import type { Look } from '../../terminal/look.ts';
import { formatPercent } from '../../terminal/numbers.ts';
import { levelText } from './change-text.ts';
import type { CheckedSeries } from './output.ts';
import type { SeriesPicture } from './picture.ts';

type CheckedCell = CheckedSeries['cells'][number];

interface CellRow extends CheckedCell {
  readonly cell: KeyedCell;
  readonly values: readonly (number | null)[];
}

/** Rows of cells that moved, unless all are asked for. */
const SHOWN_ROWS = 12;
const SPARK_WIDTHS = [30, 20, 12];

/** A line a cell, the largest change first, all on one scale; steady cells are folded. */
export function cellsText({ cells }: CheckedSeries, picture: SeriesPicture, isAll: boolean, look: Look): string[] {
  const rows = cells.flatMap((checked): CellRow[] => {
    const drawn = picture.cells.get(checked.key);
    const values = drawn?.histories.get(checked.metric);
    return drawn === undefined || values === undefined ? [] : [{ ...checked, cell: drawn.cell, values }];
  });
  const sorted = rows.toSorted((a, b) => weightOf(b) - weightOf(a));
  const moved = sorted.filter(({ status }) => MOVED.includes(status));
  const shown = isAll ? sorted : moved.slice(0, SHOWN_ROWS);
  const folded = sorted.length - shown.length;
  const fold = [
    ...(moved.length > shown.length ? [`${moved.length - shown.length} more`] : []),
    ...(isAll || sorted.length === moved.length ? [] : [`${sorted.length - moved.length} steady`]),
  ].join(', ');
  if (shown.length === 0) return [];
  const scale = scalePercent(moved.map(({ changePercent }) => changePercent));
  const width = SPARK_WIDTHS.find((one) => one <= look.columns - 50) ?? 12;
  const sparks = Math.min(width, picture.sweeps.length);
  const table = cellTable<CellRow>(
    shown,
    [
      { header: 'now', text: (row) => (row.now === null ? '–' : levelText(row, row.now)), align: 'right', dropRank: 2 },
      {
        header: 'change',
        text: ({ changePercent, status }) => (MOVED.includes(status) ? formatPercent(changePercent) : status),
        style: ({ status }) => (status === 'slower' ? look.style.bad : status === 'faster' ? look.style.good : plain),
        align: 'right',
      },
      {
        header: sparks < 2 ? '' : `last ${sparks} sweeps, ±${scale} %`,
        short: `±${scale} %`,
        text: ({ before, values }) =>
          sparks < 2 ? '' : sparkline(values, sparks, { level: before, percent: scale, isAscii: look.isAscii }),
        dropRank: 1,
      },
    ],
    look,
    { all: rows },
  );
  return ['', ...table, ...(folded === 0 ? [] : [look.style.dim(`${fold}: --all`)])];
}

const MOVED: readonly CheckedCell['status'][] = ['slower', 'faster', 'suspected'];

function plain(text: string): string {
  return text;
}

/** Slower ones first, then the others that moved. */
function weightOf({ changePercent, status }: CellRow): number {
  const rank = status === 'slower' ? 2e6 : status === 'suspected' ? 1e6 : status === 'faster' ? 5e5 : 0;
  return rank + Math.abs(changePercent ?? 0);
}
