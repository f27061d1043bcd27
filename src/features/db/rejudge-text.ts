import type { KeyedCell } from '../../records/cell.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatPercent } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import type { RejudgeOutput } from './output.ts';

/** What the ids of the output mean. */
export interface RejudgedNames {
  readonly cells: ReadonlyMap<string, KeyedCell>;
  /** When each sweep began. */
  readonly startedAt: ReadonlyMap<string, string | null>;
}

export function rejudgeText({ nights, changes }: RejudgeOutput, names: RejudgedNames, look: Look): string[] {
  const differing = changes.filter(({ toldTodaySweepId, toldThenSweepId }) => toldTodaySweepId !== toldThenSweepId);
  const same = changes.length - differing.length;
  const onlyToday = differing.filter(({ toldThenSweepId }) => toldThenSweepId === null).length;
  const onlyThen = differing.filter(({ toldTodaySweepId }) => toldTodaySweepId === null).length;
  const head = look.style.strong(
    differing.length === 0
      ? `${count(nights, 'night')}: today's rules tell the same ${count(same, 'change')}`
      : `${count(nights, 'night')}: ${count(same, 'change')} told alike, ${onlyToday} only by today's rules, ${onlyThen} only then, ${differing.length - onlyToday - onlyThen} on another night`,
  );
  if (differing.length === 0) return [head];
  const date = (sweepId: string | null): string =>
    sweepId === null ? '–' : (names.startedAt.get(sweepId)?.slice(0, 10) ?? '?');
  const rows = differing.flatMap((change) => {
    const cell = names.cells.get(change.key);
    return cell === undefined ? [] : [{ ...change, cell }];
  });
  const about = cellColumns(rows, ({ cell }) => cell);
  const table = renderTable<(typeof rows)[number]>(
    [
      ...about.columns,
      { header: 'change', text: (row) => formatPercent(row.changePercent), align: 'right' },
      { header: 'since', text: ({ firstBadSweepId }) => date(firstBadSweepId), dropRank: 1 },
      { header: "told by today's rules", text: ({ toldTodaySweepId }) => date(toldTodaySweepId) },
      { header: 'told then', text: ({ toldThenSweepId }) => date(toldThenSweepId) },
    ],
    rows,
    look,
  );
  return [head, '', ...table, ...captionLines(about.caption, look)];
}
