import type { CellStatus } from '../../judge/gate/verdict.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { GatedMetricId } from '../../records/gated-metric.ts';
import type { GeometricMean } from '../../records/verdict.ts';
import { cellTable } from '../../terminal/cell-columns.ts';
import { scalePercent, sparkline } from '../../terminal/charts/sparkline.ts';
import { type Look, plain } from '../../terminal/look.ts';
import { formatPercent, meanChangeText } from '../../terminal/numbers.ts';
import { textWidth } from '../../terminal/text-width.ts';
import { levelText } from './change-text.ts';

/** A cell over time, by what the gate says of it. */
export interface CellRow {
  readonly cell: KeyedCell;
  /** Null where the gate does not judge its metric: then its change is that of its newest two sweeps. */
  readonly status: CellStatus | null;
  readonly metric: GatedMetricId;
  readonly unit: string;
  readonly before: number | null;
  readonly now: number | null;
  readonly changePercent: number | null;
  /** In place of its own change: that of the metric that moved. */
  readonly otherChange?: string;
  /** Oldest first; null for a gap. */
  readonly values: readonly (number | null)[];
  /** Why it is never a baseline. */
  readonly flags?: string;
}

/** Columns of what is left of a row's picture. */
const ROW_COLUMNS = 50;
const LEAST_PICTURE = 12;

/** A line a cell, the largest change first, all on one scale. @param steps what the pictures are made of: `sweeps` */
export function cellRows(shown: readonly CellRow[], all: readonly CellRow[], steps: string, look: Look): string[] {
  const changes = all.filter(hasMoved).map(({ changePercent }) => changePercent);
  const scale = scalePercent(changes);
  const longest = Math.max(...all.map(({ values }) => values.length));
  const width = Math.min(longest, Math.max(LEAST_PICTURE, look.columns - ROW_COLUMNS));
  const { bad, good } = look.style;
  return cellTable<CellRow>(
    shown,
    [
      { header: 'flags', text: ({ flags = '' }) => flags, style: () => bad, minWidth: 10 },
      { header: 'now', text: (row) => (row.now === null ? '–' : levelText(row, row.now)), align: 'right', dropRank: 2 },
      {
        header: 'change',
        text: (row) => row.otherChange ?? (hasMoved(row) ? formatPercent(row.changePercent) : (row.status ?? '')),
        style: ({ status }) => (status === 'slower' ? bad : status === 'faster' ? good : plain),
        align: 'right',
      },
      {
        header: width < LEAST_PICTURE ? `±${scale} %` : `last ${width} ${steps}, ±${scale} %`,
        short: `±${scale} %`,
        text: ({ before, values }) =>
          width < 2 ? '' : sparkline(values, width, { level: before, percent: scale, isAscii: look.isAscii }),
        dropRank: 1,
      },
    ],
    look,
    { all },
  );
}

const MOVED: readonly CellRow['status'][] = ['slower', 'faster', 'suspected', null];

export function hasMoved({ status }: Pick<CellRow, 'status'>): boolean {
  return MOVED.includes(status);
}

/** Slower ones first, then the others that moved. */
export function worstFirst(rows: readonly CellRow[]): CellRow[] {
  return rows.toSorted((a, b) => weightOf(b) - weightOf(a));
}

function weightOf({ changePercent, status }: CellRow): number {
  const rank = { slower: 3e6, suspected: 2e6, faster: 1e6 }[String(status)] ?? 0;
  return rank + Math.abs(changePercent ?? 0);
}

/** `12 slower   1 faster   35 steady   geometric mean +1.2 % (1.0 to 1.4)`. */
export function countsText(
  cells: readonly Pick<CellRow, 'status'>[],
  geometricMean: GeometricMean | null,
  { columns, style }: Look,
): string[] {
  const numberOf = (status: CellStatus): number => cells.filter((cell) => cell.status === status).length;
  const [slower, faster] = [numberOf('slower'), numberOf('faster')];
  const words = (['suspected', 'new', 'missing', 'failed'] as const).flatMap((status) => {
    const number = numberOf(status);
    return number === 0 ? [] : [`${number} ${status === 'failed' ? 'without a result' : status}`];
  });
  const counts = [
    slower === 0 ? '0 slower' : style.bad(`▲ ${slower} slower`),
    faster === 0 ? '0 faster' : style.good(`▼ ${faster} faster`),
    `${numberOf('steady')} steady`,
    ...words,
  ].join('   ');
  const mean = geometricMean === null ? '' : `geometric mean ${meanChangeText(geometricMean)}`;
  const isOneLine = textWidth(counts) + textWidth(mean) + 3 <= columns;
  return mean === '' ? [counts] : isOneLine ? [`${counts}   ${mean}`] : [counts, mean];
}
