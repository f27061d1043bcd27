import type { JudgedCell, SweepEvidence } from '../../judge/gate/evidence.ts';
import { valuesByPlace } from '../../judge/geometric-mean.ts';
import { environmentMarks, type TrendMark } from '../../judge/trend.ts';
import { type KeyedCell, cellLabel } from '../../records/cell.ts';
import { gatedMetricOf, wholeOf } from '../../records/gated-metric.ts';
import { cellTable } from '../../terminal/cell-columns.ts';
import { type HistoryChart, renderHistoryChart } from '../../terminal/charts/history-chart.ts';
import { scalePercent, sparkline } from '../../terminal/charts/sparkline.ts';
import { type Look, plain, textWidth, wrapHanging } from '../../terminal/look.ts';
import { dayText, directionWord, formatPercent } from '../../terminal/numbers.ts';
import { numberColumn, textColumn } from '../../terminal/table.ts';
import { printable } from '../../text/printable.ts';
import type { CheckedFinding } from './output.ts';
import { levelText } from './sentences.ts';

export interface CellRow extends Pick<JudgedCell, 'before' | 'changePercent' | 'metric' | 'now' | 'reason'> {
  readonly cell: KeyedCell;
  /** Null if the gate does not judge its metric; the change is then that of its newest two sweeps. */
  readonly verdict: JudgedCell['verdict'] | null;
  readonly unit: string;
  readonly values: readonly (number | null)[];
  /** Why the cell is never part of a baseline. */
  readonly flags?: string;
}

export type Said = Pick<CellRow, 'reason' | 'verdict'>;

/** Columns of a row without its picture. */
const ROW_COLUMNS = 50;
const LEAST_PICTURE = 12;

export function cellRows(shown: readonly CellRow[], all: readonly CellRow[], steps: string, look: Look): string[] {
  const scale = scalePercent(all.filter(hasMoved).map(({ changePercent }) => changePercent));
  const longest = Math.max(...all.map(({ values }) => values.length));
  const width = Math.min(longest, Math.max(LEAST_PICTURE, look.columns - ROW_COLUMNS));
  const { bad, good } = look.style;
  const picture = ({ before, values }: CellRow): string =>
    width < 2 ? '' : sparkline(values, width, { level: before, percent: scale });
  const short = `±${scale} %`;
  return cellTable<CellRow>(
    shown,
    [
      { header: 'flags', text: ({ flags = '' }) => flags, style: () => bad, minWidth: 10 },
      numberColumn('now', (row) => (row.now === null ? '–' : levelText(row, row.now)), 2),
      numberColumn('change', (row) => (hasMoved(row) ? formatPercent(row.changePercent) : verdictText(row)), 0, {
        style: ({ verdict }) => (verdict === 'slower' ? bad : verdict === 'faster' ? good : plain),
      }),
      textColumn(width < LEAST_PICTURE ? short : `last ${width} ${steps}, ${short}`, picture, 1, { short }),
    ],
    look,
    { all },
  );
}

/** `same`, `unclear`, `new`, `no result`; empty without a verdict. */
export function verdictText({ reason, verdict }: Readonly<Record<'reason' | 'verdict', string | null>>): string {
  if (reason === 'new') return 'new';
  return verdict === 'noResult' ? 'no result' : (verdict ?? '');
}

export function hasMoved({ reason, verdict }: Said): boolean {
  return verdict === 'slower' || verdict === 'faster' || verdict === null || (verdict === 'unclear' && reason === null);
}

export function worstFirst(rows: readonly CellRow[]): CellRow[] {
  const ranks = ['faster', 'unclear', 'slower'];
  const weightOf = (row: CellRow): number => 1e6 * ranks.indexOf(row.verdict ?? '') + Math.abs(row.changePercent ?? 0);
  return rows.toSorted((a, b) => weightOf(b) - weightOf(a));
}

/**
 * `12 slower   1 faster   35 same   geometric mean +1.2 % (1.0 to 1.4)`.
 * @param elsewhere number of cells that are slower in another metric than their own
 */
export function countsText(cells: readonly Said[], mean: string | null, look: Look, elsewhere = 0) {
  const { columns, style } = look;
  const numbers = Map.groupBy(cells, verdictText);
  const countOf = (word: string): string => `${numbers.get(word)?.length ?? 0} ${word}`;
  const counts = [
    numbers.has('slower') ? style.bad(`▲ ${countOf('slower')}`) : '0 slower',
    ...(elsewhere > 0 ? [style.bad(`▲ ${elsewhere} in another metric alone`)] : []),
    numbers.has('faster') ? style.good(`▼ ${countOf('faster')}`) : '0 faster',
    countOf('same'),
    ...['unclear', 'no result', 'new'].filter((word) => numbers.has(word)).map(countOf),
  ].join('   ');
  const parts = [counts, ...(mean === null ? [] : [mean])];
  const line = parts.join('   ');
  return textWidth(line) <= columns ? [line] : parts;
}

export interface CellChart extends Pick<CellRow, 'metric' | 'unit' | 'values'> {
  readonly labels: readonly string[];
  readonly marks: readonly TrendMark[];
  readonly height: number;
  readonly strip?: Pick<CellRow, 'metric' | 'unit' | 'values'> | undefined;
}

const HEIGHT = 6;
const SIGNS = {
  slower: ['S', 'bad'],
  faster: ['F', 'good'],
  /** The bottleneck turned into another one. */
  bound: ['T', 'warn'],
  environment: ['E', 'warn'],
  baseline: ['B', 'dim'],
} as const satisfies Readonly<Record<TrendMark['kind'], object>>;

export function cellChart({ height, labels, strip, marks, values, ...about }: CellChart, look: Look) {
  const moves = marks.filter(({ breaksLine, kind }) => breaksLine || kind === 'slower' || kind === 'faster');
  const last = moves.at(-1);
  const paintOf = ({ kind }: TrendMark) => look.style[SIGNS[kind][1]];
  const chart: HistoryChart = {
    values,
    levelStarts: moves.map(({ step }) => step),
    labels,
    marks: new Map(marks.toReversed().map((mark) => [mark.step, paintOf(mark)(SIGNS[mark.kind][0])])),
    format: (value) => levelText(about, value),
    styleOf: (level) => (last !== undefined && level === moves.length ? paintOf(last) : plain),
    most: wholeOf(about.metric),
    height,
    look,
  };
  const below = strip === undefined ? null : { ...strip, format: (value: number) => levelText(strip, value) };
  const legend = marks.map(({ step, kind, text }) => `${SIGNS[kind][0]} ${labels[step] ?? ''} ${printable(text)}`);
  return { lines: renderHistoryChart(chart, below), legend };
}

const SHOWN_SWEEPS = 90;
/** The text already gives two values. */
const LEAST_VALUES = 3;

/** A chart of the clearest cell of a finding, with its levels and marks; empty if it has no history. */
export function findingChart(finding: CheckedFinding, evidence: SweepEvidence, look: Look): string[] {
  const { details, direction, firstBad } = finding;
  const { cells, environments, sweeps: series } = evidence;
  const [clearest] = details;
  const own = cells.find(({ cell }) => cell.key === clearest?.key);
  const history = own?.metrics.find(({ metric }) => metric === clearest?.metric)?.history;
  if (clearest === undefined || own === undefined || history === undefined) return [];
  const values = valuesByPlace(history, series.length);
  if (values.filter((value) => value !== null).length < LEAST_VALUES) return [];
  const from = Math.max(0, series.length - SHOWN_SWEEPS);
  const sweeps = series.slice(from);
  const step = sweeps.findIndex(({ sweepId }) => sweepId === firstBad?.sweepId);
  const ofCell = own.environmentIds.map((id) => environments.get(id ?? '') ?? null);
  const begin = firstBad?.commit?.slice(0, 8) ?? directionWord(direction, clearest.unit);
  const marks: TrendMark[] = [
    { kind: direction, step, text: begin, breaksLine: false },
    ...environmentMarks(ofCell).map((mark) => ({ ...mark, step: mark.step - from })),
  ];
  const chart = {
    ...clearest,
    values: values.slice(from),
    height: HEIGHT,
    labels: sweeps.map(({ startedAt }) => dayText(startedAt?.slice(0, 10) ?? null)),
    marks: marks.filter((mark) => mark.step >= 0).toSorted((a, b) => a.step - b.step),
  };
  const { legend, lines } = cellChart(chart, { ...look, columns: look.columns - 2 });
  const about = `${printable(cellLabel(own.cell))}, ${gatedMetricOf(clearest.metric).label}`;
  const text = wrapHanging(`  ${[about, ...legend].join(' · ')}`, look.columns, 4);
  return [...lines.map((line) => `  ${line}`), ...text.map(look.style.dim)];
}
