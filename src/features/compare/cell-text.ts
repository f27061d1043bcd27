import { type Metric, metricOf } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import type { Look } from '../../terminal/look.ts';
import { histogramChart } from '../../terminal/charts/histogram-chart.ts';
import { formatNumber, formatPercent, intervalText } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { deviationText, spreadOf } from '../../terminal/statistics-table.ts';
import type { ComparedCell, Comparison } from './output.ts';
import { changeStyle, VERDICT_SIGNS, verdictWord } from '../../terminal/words.ts';
import type { JudgedCell } from '../../judge/compare/compare-matrix.ts';
import type { RunQueries } from '../../store/runs/show-run.ts';
import type { Side } from '../../selection/sides.ts';

/** A single cell: its verdict, both sides below each other, and the ratio of the two. */
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
    ratioText(compared, metricOf(metric)),
    mdePercent === null || verdict !== 'same' ? '' : `a change of ${formatPercent(mdePercent, false)} is detectable`,
  ];
  return lines
    .filter((line) => line !== '')
    .flatMap((line, place) => (place === 0 ? [line] : wrapHanging(line, look.columns, 2)));
}

/** Distributions of the queries of both sides, above each other. */
export function comparedQueriesText(queries: ComparedDetails['queries'], look: Look): string[] {
  if (queries === null) return [];
  const [base, head] = queries;
  const title = `${metricOf(base.metric).label} of each query`;
  return [
    '',
    title,
    ...histogramChart(
      [
        { name: 'base', ...base },
        { name: 'head', ...head },
      ],
      look,
    ),
  ];
}

interface SideRow {
  readonly name: string;
  readonly value: number;
  readonly values: readonly number[];
}

function sideTable({ metric, base, head, values }: ShownCell, look: Look): string[] {
  const sides = [
    { name: 'base', value: base, values: values?.[0] ?? [] },
    { name: 'head', value: head, values: values?.[1] ?? [] },
  ];
  const rows = sides.flatMap(({ value, ...side }): SideRow[] => (value === null ? [] : [{ ...side, value }]));
  if (rows.length === 0) return [];
  const right = 'right' as const;
  const { unit } = metricOf(metric);
  return renderTable<SideRow>(
    [
      { header: '', text: ({ name }) => name },
      {
        header: `median ${unit}`,
        text: ({ value }) => formatNumber(value),
        style: () => look.style.strong,
        align: right,
      },
      {
        header: '± deviation',
        text: ({ value, values: all }) => deviationText(spreadOf(all)?.deviation ?? null, value, formatNumber(value)),
        dropRank: 1,
      },
      {
        header: 'min … max',
        text: ({ values: all }) => {
          const spread = spreadOf(all);
          return spread === null || spread.runs < 2
            ? ''
            : `${formatNumber(spread.least)} … ${formatNumber(spread.most)}`;
        },
        dropRank: 2,
      },
      { header: 'runs', text: ({ values: all }) => (all.length === 0 ? '' : String(all.length)), align: right },
    ],
    rows,
    look,
  );
}

/** `base is 1.158 times faster than head (1.155 to 1.160, 95 %)`; without a verdict only the ratio. */
function ratioText({ verdict, changePercent, ciPercent }: ComparedCell, metric: Metric): string {
  if (changePercent === null || changePercent <= -100) return '';
  const factor = 1 + changePercent / 100;
  const bounds = ciPercent?.map((percent) => 1 + percent / 100) ?? null;
  if (verdict !== 'slower' && verdict !== 'faster') {
    return `head is ${ratio(factor)} times base${between(bounds)}`;
  }
  const [larger, smaller] = factor > 1 ? ['head', 'base'] : ['base', 'head'];
  const times = factor > 1 ? factor : 1 / factor;
  const range = factor > 1 ? bounds : (bounds?.map((bound) => 1 / bound).toReversed() ?? null);
  const [better, worse] = verdict === 'slower' ? ['base', 'head'] : ['head', 'base'];
  return metric.unit === 'MiB' || metric.unit === '%'
    ? `${larger} has ${ratio(times)} times the ${metric.label} of ${smaller}${between(range)}`
    : `${better} is ${ratio(times)} times faster than ${worse}${between(range)}`;
}

/** Below 2, two decimals would hide the change. */
function ratio(times: number): string {
  return times.toFixed(times < 2 ? 3 : 2);
}

function between(bounds: readonly number[] | null): string {
  const [from, to] = bounds ?? [];
  return from === undefined || to === undefined || from < 0 ? '' : ` (${ratio(from)} to ${ratio(to)}, 95 %)`;
}

export interface Compared {
  readonly output: Comparison;
  readonly details: ComparedDetails;
}

/** Shown in the text but not in `--json`. */
export interface ComparedDetails {
  readonly sides: { readonly base: Side; readonly head: Side };
  readonly cells: ReadonlyMap<string, CellDetails>;
  /** Queries of base and head when a single cell is shown; null if one of them kept none. */
  readonly queries: readonly [RunQueries, RunQueries] | null;
}

type CellDetails = Pick<JudgedCell, 'cell' | 'values'>;

export type ShownCell = ComparedCell & CellDetails;
