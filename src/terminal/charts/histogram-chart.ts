import { type Bins, binsFor, binsOver, countIn, ticks } from '../../statistics/histogram.ts';
import { quantileSorted, trtexecPercentile } from '../../statistics/order-statistics.ts';
import { type Look, dotted, padEnd, textWidth, wrapHanging } from '../look.ts';
import { count, formatMs, formatPercent } from '../numbers.ts';

/** Time of each query in milliseconds, in any order; not empty. */
export interface QueryTimes {
  /** `base` or `head`; not shown for a single side. */
  readonly name: string;
  /** Number of runs of these queries. */
  readonly runs: number;
  readonly values: readonly number[];
}

const ROWS = 6;
/** Columns between two labels. */
const TICK_COLUMNS = 16;

/** A histogram of the queries of a run as bars, or one above the other for two sides. The axis marks the quantiles. */
export function histogramChart(sides: readonly [QueryTimes] | readonly [QueryTimes, QueryTimes], look: Look): string[] {
  const { columns, style } = look;
  const sorted = sides.map((side) => ({ ...side, values: side.values.toSorted((a, b) => a - b) }));
  const width = Math.max(16, columns - 2);
  const samples = sorted.map(({ values }) => values);
  const binColumns = Math.max(1, Math.round(width / binsFor(samples, width).count));
  const bins = binsOver(samples, Math.floor(width / binColumns));
  const shares = samples.map((values) => sharesOf(values, bins, binColumns));
  const most = Math.max(...shares.flat());
  const isOnly = sides.length === 1;
  const heights = shares.map((own) => own.map((share) => share / most));
  const marks = sorted.flatMap((side) => marksOf(side, isOnly));
  return [
    ...heights.flatMap((own) => barRows(own, ROWS / sides.length, look)).map((row) => `│${row}`),
    ...axisLines(bins, binColumns, marks, look),
    ...sorted.flatMap((side) => wrapHanging(legendOf(side, bins, isOnly), columns, 2).map(style.dim)),
  ];
}

/** Share of the values in the bin of each column. */
function sharesOf(values: readonly number[], bins: Bins, binColumns: number): number[] {
  const { counts } = countIn(values, bins);
  return counts.flatMap((inBin) => Array.from({ length: binColumns }, () => inBin / values.length));
}

const EIGHTHS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/** Rows of bars, in which a small value is never invisible. @param heights heights of the columns, from 0 to 1 */
function barRows(heights: readonly number[], rows: number, { style }: Look): string[] {
  const levels = heights.map((height) => (height > 0 ? Math.max(1, Math.round(height * rows * 8)) : 0));
  return Array.from({ length: rows }, (_, place) => {
    const below = (rows - 1 - place) * 8;
    const line = levels.map((level) => EIGHTHS[Math.min(8, Math.max(0, level - below))] ?? ' ');
    return style.accent(line.join('').trimEnd());
  });
}

/** Marks of one run: `M` at the median and `P` at the 99th percentile; of two sides: `B` and `H` at their medians. */
function marksOf({ name, values }: QueryTimes, isOnly: boolean) {
  const median = quantileSorted(values, 0.5);
  if (!isOnly) return [{ sign: signOf(name), value: median }];
  return [
    { sign: 'P', value: trtexecPercentile(values, 99) },
    { sign: 'M', value: median },
  ];
}

/** @param isOnly whether there is one run, which needs no name */
function legendOf({ name, runs, values }: QueryTimes, bins: Bins, isOnly: boolean): string {
  const { beyond } = countIn(values, bins);
  const share = formatPercent((100 * beyond) / values.length, false);
  const parts = [
    `${isOnly ? 'M' : `${signOf(name)} ${name}:`} median ${formatMs(quantileSorted(values, 0.5))}`,
    `${isOnly ? 'P ' : ''}p99 ${formatMs(trtexecPercentile(values, 99))}`,
    isOnly ? '' : count(runs, 'run'),
    count(values.length, 'query', 'queries'),
    beyond === 0 ? '' : `${share} beyond, up to ${formatMs(values.at(-1) ?? 0)}`,
  ];
  return dotted(parts);
}

function signOf(name: string): string {
  return name.slice(0, 1).toUpperCase();
}

function axisLines(bins: Bins, binColumns: number, marks: ReturnType<typeof marksOf>, { style }: Look): string[] {
  const width = bins.count * binColumns;
  const columnOf = (value: number): number =>
    Math.min(width - 1, Math.max(0, Math.floor(((value - bins.from) / bins.width) * binColumns)));
  const values = ticks(bins.from, bins.from + bins.width * bins.count, Math.max(4, Math.floor(width / TICK_COLUMNS)));
  const axis = Array.from({ length: width }, (): string => '─');
  const [from = 0, next = from] = values;
  const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(next - from || from || 1) - 1e-9)));
  let labels = '';
  for (const value of values) {
    const column = columnOf(value);
    axis[column] = '┬';
    const label = `${value.toFixed(decimals)}${value === values.at(-1) ? ' ms' : ''}`;
    const start = Math.min(column, width - textWidth(label));
    if (labels === '' || start > textWidth(labels) + 1) labels = padEnd(labels, start) + label;
  }
  for (const { sign, value } of marks) axis[columnOf(value)] = style.strong(sign);
  return [`└${axis.join('')}`, ` ${labels}`];
}
