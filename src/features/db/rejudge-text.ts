import type { Rejudged } from '../../judge/gate/rejudge.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { cellLabel } from '../../text/cell-label.ts';
import type { Sweep } from '../../records/sweep.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatPercent } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';

export interface RejudgeReport {
  /** The oldest first: nights are places among them. */
  readonly sweeps: readonly Sweep[];
  readonly rejudged: readonly (Rejudged & { readonly cell: KeyedCell })[];
}

export function rejudgeJson({ sweeps, rejudged }: RejudgeReport) {
  const sweepId = (night: number | null): string | null => (night === null ? null : (sweeps[night]?.sweepId ?? null));
  return {
    schemaVersion: 1,
    nights: sweeps.length,
    changes: rejudged.map((entry) => ({
      key: entry.cellKey,
      label: cellLabel(entry.cell),
      direction: entry.direction,
      changePercent: entry.changePercent,
      firstBadSweepId: sweepId(entry.night),
      toldTodaySweepId: sweepId(entry.toldToday),
      toldThenSweepId: sweepId(entry.toldThen),
    })),
  };
}

export function rejudgeText({ sweeps, rejudged }: RejudgeReport, look: Look): string[] {
  const alike = rejudged.filter(({ toldToday, toldThen }) => toldToday === toldThen);
  const differing = rejudged.filter(({ toldToday, toldThen }) => toldToday !== toldThen);
  const onlyToday = differing.filter(({ toldThen }) => toldThen === null).length;
  const onlyThen = differing.filter(({ toldToday }) => toldToday === null).length;
  const head = look.style.strong(
    differing.length === 0
      ? `${count(sweeps.length, 'night')}: today's rules tell the same ${count(alike.length, 'change')}`
      : `${count(sweeps.length, 'night')}: ${count(alike.length, 'change')} told alike, ${onlyToday} only by today's rules, ${onlyThen} only then, ${differing.length - onlyToday - onlyThen} on another night`,
  );
  if (differing.length === 0) return [head];
  const date = (night: number | null): string =>
    night === null ? '–' : (sweeps[night]?.startedAt?.slice(0, 10) ?? '?');
  const about = cellColumns(differing, ({ cell }) => cell);
  const table = renderTable<RejudgeReport['rejudged'][number]>(
    [
      ...about.columns,
      { header: 'change', text: (row) => formatPercent(row.changePercent), align: 'right' },
      { header: 'since', text: ({ night }) => date(night), dropRank: 1 },
      { header: "told by today's rules", text: ({ toldToday }) => date(toldToday) },
      { header: 'told then', text: ({ toldThen }) => date(toldThen) },
    ],
    differing,
    look,
  );
  return [head, '', ...table, ...captionLines(about.caption, look)];
}
