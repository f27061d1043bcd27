import { type Bins, binsFor, binsOver, countIn, ticks } from '../../statistics/histogram.ts';
import { quantileSorted, trtexecPercentile } from '../../statistics/order-statistics.ts';
import type { Look } from '../look.ts';
import { count, formatMs, formatPercent } from '../numbers.ts';
import { dotted, padEnd, textWidth, wrapHanging } from '../text-width.ts';

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

/**
 * A histogram of the queries of a run as bars. For two sides, the first is a field of dots and the second a line over
 * it, by their share in each bin. The axis marks medians and 99th percentiles. A terminal without Unicode gets six rows
 * of ASCII.
 */
export function histogramChart(sides: readonly [QueryTimes] | readonly [QueryTimes, QueryTimes], look: Look): string[] {
  const { columns, style } = look;
  const sorted = sides.map((side) => ({ ...side, values: side.values.toSorted((a, b) => a - b) }));
  const [first, second] = sorted;
  if (first === undefined) return [];
  const width = Math.max(16, columns - 2);
  const samples = sorted.map(({ values }) => values);
  const wanted = binsFor(samples, width).count;
  const binColumns = Math.max(1, Math.round(width / wanted));
  const bins = binsOver(samples, Math.floor(width / binColumns));
  const shares = sorted.map(({ values }) => sharesOf(values, bins, binColumns));
  const most = Math.max(...shares.flat());
  const [base = [], head = []] = shares.map((own) => own.map((share) => share / most));
  const rows = second === undefined ? barRows(base, look) : overlaidRows(base, head, look);
  const marks = sorted.flatMap((side) => marksOf(side, second === undefined));
  const drawnAs = look.isAscii ? ['.', '#'] : ['dots', 'line'];
  const legends = sorted.map((side, place) =>
    legendOf(side, bins, second === undefined ? null : (drawnAs[place] ?? '')),
  );
  return [
    ...rows.map((row) => `${look.isAscii ? '|' : '│'}${row}`.trimEnd()),
    ...axisLines(bins, binColumns, marks, look),
    ...legends.flatMap((legend) => wrapHanging(legend, columns, 2).map(style.dim)),
  ];
}

/** Share of the values in the bin of each column. */
function sharesOf(values: readonly number[], bins: Bins, binColumns: number): number[] {
  const { counts } = countIn(values, bins);
  return counts.flatMap((inBin) => Array.from({ length: binColumns }, () => inBin / values.length));
}

const EIGHTHS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/** Rows of bars, in which a small value is never invisible. @param heights heights of the columns, from 0 to 1 */
function barRows(heights: readonly number[], { isAscii, style }: Look): string[] {
  const steps = isAscii ? 1 : 8;
  const levels = heights.map((height) => (height > 0 ? Math.max(1, Math.round(height * ROWS * steps)) : 0));
  return downwards(ROWS).map((row) => {
    const line = levels.map((level) => {
      const filled = Math.min(steps, Math.max(0, level - row * steps));
      return isAscii ? (filled === 1 ? '#' : ' ') : (EIGHTHS[filled] ?? ' ');
    });
    return style.accent(line.join('').trimEnd());
  });
}

/** Bits of the dots of a braille character by column and by row from the bottom (Unicode 16, block 2800). */
const DOTS = [
  [0x40, 0x04, 0x02, 0x01],
  [0x80, 0x20, 0x10, 0x08],
] as const;

/** Draws every second point under the first curve, and the whole second curve. */
function overlaidRows(base: readonly number[], head: readonly number[], look: Look): string[] {
  const { isAscii, style } = look;
  const [across, up] = isAscii ? [1, 1] : [2, 4];
  const toLevels = (heights: readonly number[]) =>
    heights.flatMap((height) => Array.from({ length: across }, () => Math.round(height * (ROWS * up - 1))));
  const [field, line] = [toLevels(base), toLevels(head)];
  const isField = (x: number, y: number): boolean => y < (field[x] ?? 0) && (isAscii || (x + y) % 2 === 0);
  const isLine = (x: number, y: number): boolean => {
    const [before = 0, level = 0] = [line[x - 1], line[x]];
    return level + before > 0 && y >= Math.min(level, before + Number(before < level)) && y <= Math.max(level, before);
  };
  return downwards(ROWS).map((row) => {
    const cells = base.map((_, column) => {
      const points = Array.from({ length: across * up }).map((_nothing, point) => {
        const [x, y] = [column * across + Math.floor(point / up), row * up + (point % up)];
        const dot = DOTS[Math.floor(point / up)]?.[point % up] ?? 0;
        return { dot, isField: isField(x, y), isLine: isLine(x, y) };
      });
      const hasLine = points.some((point) => point.isLine);
      const dots = points.reduce((sum, point) => sum + (point.isLine || point.isField ? point.dot : 0), 0);
      if (dots === 0) return ' ';
      if (isAscii) return hasLine ? '#' : '.';
      const character = String.fromCodePoint(0x2800 + dots);
      return hasLine ? style.accent(character) : character;
    });
    return cells.join('');
  });
}

function downwards(rows: number): number[] {
  return Array.from({ length: rows }, (_, index) => rows - 1 - index);
}

interface AxisMark {
  readonly sign: string;
  readonly value: number;
}

/** Marks of one run: `M` at the median and `P` at the 99th percentile; of two sides: `B` and `H` at their medians. */
function marksOf({ name, values }: QueryTimes, isOnly: boolean): AxisMark[] {
  const median = quantileSorted(values, 0.5);
  if (!isOnly) return [{ sign: signOf(name), value: median }];
  return [
    { sign: 'P', value: trtexecPercentile(values, 99) },
    { sign: 'M', value: median },
  ];
}

/** @param drawnAs how a side is drawn; null for the queries of a single run, which need no name */
function legendOf({ name, runs, values }: QueryTimes, bins: Bins, drawnAs: string | null): string {
  const { beyond } = countIn(values, bins);
  const share = formatPercent((100 * beyond) / values.length, false);
  const parts = [
    `${drawnAs === null ? 'M' : signOf(name)} median ${formatMs(quantileSorted(values, 0.5))}`,
    `${drawnAs === null ? 'P ' : ''}p99 ${formatMs(trtexecPercentile(values, 99))}`,
    drawnAs === null ? '' : count(runs, 'run'),
    count(values.length, 'query', 'queries'),
    beyond === 0 ? '' : `${share} beyond, up to ${formatMs(values.at(-1) ?? 0)}`,
  ];
  return `${drawnAs === null ? '' : `${name} (${drawnAs}): `}${dotted(parts)}`;
}

function signOf(name: string): string {
  return name.slice(0, 1).toUpperCase();
}

function axisLines(bins: Bins, binColumns: number, marks: readonly AxisMark[], { isAscii, style }: Look): string[] {
  const width = bins.count * binColumns;
  const columnOf = (value: number): number =>
    Math.min(width - 1, Math.max(0, Math.floor(((value - bins.from) / bins.width) * binColumns)));
  const values = ticks(bins.from, bins.from + bins.width * bins.count, Math.max(4, Math.floor(width / TICK_COLUMNS)));
  const axis = Array.from({ length: width }, (): string => (isAscii ? '-' : '─'));
  const [from = 0, next = from] = values;
  const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(next - from || from || 1) - 1e-9)));
  let labels = '';
  for (const value of values) {
    const column = columnOf(value);
    axis[column] = isAscii ? '+' : '┬';
    const label = `${value.toFixed(decimals)}${value === values.at(-1) ? ' ms' : ''}`;
    const start = Math.min(column, width - textWidth(label));
    if (labels === '' || start > textWidth(labels) + 1) labels = padEnd(labels, start) + label;
  }
  for (const { sign, value } of marks) axis[columnOf(value)] = style.strong(sign);
  return [`${isAscii ? '+' : '└'}${axis.join('')}`, ` ${labels}`];
}
