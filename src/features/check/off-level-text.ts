import type { KeyedCell } from '../../records/cell.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { truncate, wrapWords } from '../../terminal/text-width.ts';
import type { CheckedSweep } from './output.ts';

type OffCell = CheckedSweep['off'][number] & { readonly cell: KeyedCell };

const SHOWN_OFF = 8;

/** No finding yet, and no alarm: what to do about it is the last line. */
export function offText(off: readonly OffCell[], look: Look): string[] {
  if (off.length === 0) return [];
  const { columns, style } = look;
  const sorted = off.toSorted((a, b) => Math.abs(b.changePercent) - Math.abs(a.changePercent));
  const about = cellColumns(sorted, ({ cell }) => cell);
  const right = 'right' as const;
  const table = renderTable<OffCell>(
    [
      ...about.columns,
      { header: 'level', text: (row) => `${formatNumber(row.before)} ${row.unit}`, align: right, dropRank: 2 },
      { header: 'now', text: (row) => `${formatNumber(row.now)} ${row.unit}`, align: right },
      { header: 'change', text: (row) => formatPercent(row.changePercent), align: right },
      { header: 'nights', text: ({ nights }) => String(nights), align: right, dropRank: 3 },
      { header: 'runs', text: ({ runs }) => String(runs), align: right, dropRank: 4 },
    ],
    sorted.slice(0, SHOWN_OFF),
    { ...look, columns: columns - 2 },
  ).map((line) => `  ${line}`);
  const more = sorted.length - SHOWN_OFF;
  const inner = { ...look, columns: columns - 2 };
  return [
    '',
    style.warn(truncate(`off their level tonight, too few nights to tell: ${off.length}`, columns)),
    ...table,
    ...captionLines(about.caption, inner).map((line) => `  ${line}`),
    ...(more > 0 ? [style.dim(`  and ${more} more: --json has all`)] : []),
    ...wrapWords(
      `to be sure now: bench compare ${sorted[0]?.lastGoodSweepId?.slice(0, 8) ?? 'latest~1'} latest, or run again with --confirm`,
      inner.columns,
    ).map((line) => `  ${line}`),
  ];
}
