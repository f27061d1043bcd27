import { metricOf } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import type { Look } from '../../terminal/look.ts';
import { formatNumber, formatPercent, intervalText } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { deviationText, spreadOf } from '../../terminal/statistics-table.ts';
import type { ComparedCell, Comparison } from './output.ts';
import { changeStyle, VERDICT_SIGNS, verdictWord } from '../../terminal/words.ts';
import type { JudgedCell } from '../../judge/compare/compare-matrix.ts';
import type { NamedShapes } from '../../records/plan.ts';
import type { Side } from '../../selection/sides.ts';

export function comparedCellText(compared: ShownCell, look: Look): string[] {
  const { label: name, metric, verdict, changePercent, ciPercent, mdePercent } = compared;
  const { label } = metricOf(metric);
  const interval = ciPercent === null ? '' : ` (${intervalText(ciPercent)}, 95 %)`;
  const change = changePercent === null ? '' : `, ${label} ${formatPercent(changePercent)}${interval}`;
  const title = `${VERDICT_SIGNS[verdict]} ${verdictWord(verdict)}: ${printable(name)}${change}`;
  const percent = formatPercent(changePercent);
  const lines = [
    ...wrapHanging(title, look.columns, 2).map((line) =>
      line.replace(` ${percent}`, (found) => changeStyle(verdict, look.style)(found)),
    ),
    ...sideTable(compared, look),
    mdePercent === null || verdict !== 'same' ? '' : `a change of ${formatPercent(mdePercent, false)} is detectable`,
  ];
  return lines
    .filter((line) => line !== '')
    .flatMap((line, place) => (place === 0 ? [line] : wrapHanging(line, look.columns, 2)));
}

function rangeText(spread: ReturnType<typeof spreadOf>): string {
  return spread === null || spread.runs < 2 ? '' : `${formatNumber(spread.least)} … ${formatNumber(spread.most)}`;
}

function sideTable({ metric, base, head, values }: ShownCell, look: Look): string[] {
  const sides = [
    { name: 'base', value: base, spread: spreadOf(values?.[0] ?? []) },
    { name: 'head', value: head, spread: spreadOf(values?.[1] ?? []) },
  ];
  const rows = sides.flatMap(({ value, ...side }) => (value === null ? [] : [{ ...side, value }]));
  if (rows.length === 0) return [];
  const right = 'right' as const;
  const strong = () => look.style.strong;
  return renderTable(
    [
      { header: '', text: ({ name }) => name },
      {
        header: `median ${metricOf(metric).unit}`,
        text: (row) => formatNumber(row.value),
        style: strong,
        align: right,
      },
      {
        header: '± deviation',
        text: ({ spread, value }) => deviationText(spread?.deviation ?? null, value, formatNumber(value)),
        dropRank: 1,
      },
      { header: 'min … max', text: ({ spread }) => rangeText(spread), dropRank: 2 },
      { header: 'runs', text: ({ spread }) => (spread === null ? '' : String(spread.runs)), align: right },
    ],
    rows,
    look,
  );
}

export interface Compared {
  readonly output: Comparison;
  readonly details: {
    readonly sides: { readonly base: Side; readonly head: Side };
    readonly cells: ReadonlyMap<string, CellDetails>;
    readonly namedShapes: ReadonlyMap<string, NamedShapes>;
  };
}

type CellDetails = Pick<JudgedCell, 'cell' | 'values'>;

export type ShownCell = ComparedCell & CellDetails;
