import type { CellVerdict, JudgedCell } from '../../judge/gate/verdict.ts';
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
  readonly verdict: CellVerdict | null;
  readonly reason: JudgedCell['reason'];
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
        text: (row) => row.otherChange ?? (hasMoved(row) ? formatPercent(row.changePercent) : verdictText(row)),
        style: ({ verdict }) => (verdict === 'slower' ? bad : verdict === 'faster' ? good : plain),
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

/** `same`, `unclear`, `new`, `no result`. */
export function verdictText({ reason, verdict }: Pick<CellRow, 'reason' | 'verdict'>): string {
  if (reason === 'new') return 'new';
  return verdict === 'noResult' ? 'no result' : (verdict ?? '');
}

export function hasMoved({ reason, verdict }: Pick<CellRow, 'reason' | 'verdict'>): boolean {
  return verdict === 'slower' || verdict === 'faster' || verdict === null || (verdict === 'unclear' && reason === null);
}

/** Slower ones first, then the others that moved. */
export function worstFirst(rows: readonly CellRow[]): CellRow[] {
  return rows.toSorted((a, b) => weightOf(b) - weightOf(a));
}

function weightOf({ changePercent, verdict }: CellRow): number {
  const rank = { slower: 3e6, unclear: 2e6, faster: 1e6 }[String(verdict)] ?? 0;
  return rank + Math.abs(changePercent ?? 0);
}

/** `12 slower   1 faster   35 same   geometric mean +1.2 % (1.0 to 1.4)`. */
export function countsText(
  cells: readonly Pick<CellRow, 'reason' | 'verdict'>[],
  geometricMean: GeometricMean | null,
  { columns, style }: Look,
): string[] {
  const numberOf = (verdict: CellVerdict): number =>
    cells.filter((cell) => cell.reason !== 'new' && cell.verdict === verdict).length;
  const [slower, faster] = [numberOf('slower'), numberOf('faster')];
  const others = [
    [numberOf('unclear'), 'unclear'],
    [numberOf('noResult'), 'no result'],
    [cells.filter(({ reason }) => reason === 'new').length, 'new'],
  ] as const;
  const counts = [
    slower === 0 ? '0 slower' : style.bad(`▲ ${slower} slower`),
    faster === 0 ? '0 faster' : style.good(`▼ ${faster} faster`),
    `${numberOf('same')} same`,
    ...others.flatMap(([number, word]) => (number === 0 ? [] : [`${number} ${word}`])),
  ].join('   ');
  const mean = geometricMean === null ? '' : `geometric mean ${meanChangeText(geometricMean)}`;
  const isOneLine = textWidth(counts) + textWidth(mean) + 3 <= columns;
  return mean === '' ? [counts] : isOneLine ? [`${counts}   ${mean}`] : [counts, mean];
}
