import asciichart from 'asciichart';

import { median } from '../../statistics/order-statistics.ts';
import { type Look, plain, padEnd, padStart, textWidth } from '../look.ts';

export interface HistoryChart {
  /** One for each step, oldest first; null for a gap. */
  readonly values: readonly (number | null)[];
  /** Steps at which another level begins, ascending. */
  readonly levelStarts: readonly number[];
  /** Label of each step, shown below the axis if there is room. */
  readonly labels: readonly string[];
  /** Letters on the axis, by step. */
  readonly marks: ReadonlyMap<number, string>;
  /** Formats the newest value, and that of the level before; they are shown to the right. */
  readonly format: (value: number) => string;
  /** Color of the steps of a level. @param level number of the level, from 0 */
  readonly styleOf: (level: number) => (text: string) => string;
  /** Upper limit of the values; null if there is none. */
  readonly most: number | null;
  readonly height: number;
  readonly look: Look;
}

type Level = ReturnType<typeof levelsOf>[number];

/** Least range relative to the value, so that noise does not look like a change. */
const LEAST_RANGE = 0.01;
const STRIP_ROWS = 4;

/**
 * Values over time across the terminal, as lines. Each level has a band of two standard
 * deviations, and a `!` at the edge marks a value far outside.
 * @param strip other values of the same steps, drawn in a few rows below on the same axis
 */
export function renderHistoryChart(
  chart: HistoryChart,
  strip?: Pick<HistoryChart, 'format' | 'values'> | null,
): string[] {
  const upper = paneOf(chart);
  if (upper === null) return ['(nothing was measured)'];
  const own = { levelStarts: [], most: null, height: STRIP_ROWS, styleOf: () => plain };
  const lower = strip && paneOf({ ...chart, ...strip, ...own }, true);
  const panes = lower ? [upper, lower] : [upper];
  const left = Math.max(...panes.flatMap(({ names }) => [...names.values()].map(textWidth)));
  const right = Math.max(...panes.flatMap(({ ends }) => ends.map(({ text }) => textWidth(text))));
  const width = Math.max(8, chart.look.columns - left - 2 - right);
  const gap = `${' '.repeat(left)} │`;
  const lines = panes.map((pane) => paneLines(pane, width, left));
  return [...lines.flatMap((rows, place) => (place === 0 ? rows : [gap, ...rows])), ...axisOf(chart, width, left)];
}

type Pane = NonNullable<ReturnType<typeof paneOf>>;

/** Null if nothing was measured. A strip has a scale of all its values and no band. */
function paneOf(chart: HistoryChart, isStrip = false) {
  const { format, values } = chart;
  const levels = levelsOf(chart).map((level) => (isStrip ? { ...level, reach: 0 } : level));
  if (levels.length === 0) return null;
  const rows = chart.height;
  const scale = scaleOf(levels, values, rows, isStrip ? Infinity : FEW_VALUES);
  const names = tickNames(scale, rows, chart.most ?? Infinity);
  const newest = values.flatMap((value) => value ?? []).slice(-1);
  const named = [...(isStrip ? [] : levels.slice(-2, -1).map(({ value }) => value)), ...newest];
  const ends = named.map((value) => ({ row: rowOf(value, scale, rows), text: ` ${format(value)}` }));
  return { chart, ends, levels, names, rows, scale };
}

function paneLines({ chart, ends, levels, names, rows, scale }: Pane, width: number, left: number): string[] {
  const { labels, look, values } = chart;
  const canvas = Array.from({ length: rows }, () => Array.from({ length: width }, () => ' '));
  drawBands(canvas, levels, scale, labels.length, look);
  for (const [number, level] of levels.entries()) {
    const own = values.map((value, step) => (step >= level.start && step < level.end ? value : null));
    const clipped = own.map((value) => (value === null ? null : Math.min(scale.high, Math.max(scale.low, value))));
    drawLines(canvas, clipped, scale, chart.styleOf(number));
  }
  for (const [step, value] of values.entries()) {
    const edge = value === null ? undefined : canvas[value > scale.high ? 0 : value < scale.low ? rows - 1 : -1];
    if (edge !== undefined) edge[columnOf(step, labels.length, width)] = look.style.warn('!');
  }
  return canvas.map((row, y) => {
    const end = ends.findLast((one) => one.row === y)?.text ?? '';
    const body = `${row.join('')}${end}`.trimEnd();
    return `${padStart(names.get(y) ?? '', left)} ┤${body}`;
  });
}

function levelsOf({ levelStarts, values }: HistoryChart) {
  const starts = [0, ...levelStarts.filter((start) => start > 0 && start < values.length)];
  return starts.flatMap((start, place) => {
    const end = starts[place + 1] ?? values.length;
    const own = values.slice(start, end).flatMap((value) => value ?? []);
    const value = median(own);
    if (value === null) return [];
    const deviation = median(own.map((one) => Math.abs(one - value))) ?? 0;
    // For a normal distribution, the standard deviation is 1.4826 times the median absolute deviation.
    return [{ start, end, value, reach: 2 * 1.4826 * deviation }];
  });
}

/** So few values do not show their noise, so that the scale includes all of them. */
const FEW_VALUES = 20;

function scaleOf(
  levels: readonly Level[],
  values: readonly (number | null)[],
  rows: number,
  fewValues: number,
): RoundScale {
  const known = values.flatMap((value) => value ?? []);
  const shown = known.length <= fewValues ? known : [];
  const low = Math.min(...shown, ...levels.map(({ value, reach }) => value - (shown.length > 0 ? reach : 2 * reach)));
  const high = Math.max(...shown, ...levels.map(({ value, reach }) => value + (shown.length > 0 ? reach : 2 * reach)));
  const least = Math.max(Math.abs(low + high) * (LEAST_RANGE / 2), Number.MIN_VALUE);
  const pad = Math.max(0, (least - (high - low)) / 2);
  return roundScale(low - pad, high + pad, rows);
}

/** The row of a value; of one outside the scale, the first or last row. */
function rowOf(value: number, { low, high }: RoundScale, rows: number): number {
  return Math.round(((high - Math.min(high, Math.max(low, value))) / (high - low)) * (rows - 1));
}

/** Names of ticks by row; of several ticks in a row, the first one. */
function tickNames(scale: RoundScale, rows: number, most: number): Map<number, string> {
  const possible = scale.ticks.filter(({ value }) => value <= most);
  return new Map(possible.toReversed().map(({ value, text }) => [rowOf(value, scale, rows), text]));
}

/** Column of a step. The first step is at the left edge and the last one at the right. */
function columnOf(step: number, steps: number, width: number): number {
  return steps < 2 ? Math.floor(width / 2) : Math.round((step / (steps - 1)) * (width - 1));
}

function drawBands(
  canvas: string[][],
  levels: readonly Level[],
  scale: RoundScale,
  steps: number,
  { style }: Look,
): void {
  const [rows, width] = [canvas.length, canvas[0]?.length ?? 0];
  for (const { start, end, value, reach } of levels) {
    const [from, to] = [columnOf(start, steps, width), columnOf(end - 1, steps, width)];
    for (const row of canvas.slice(rowOf(value + reach, scale, rows), rowOf(value - reach, scale, rows) + 1)) {
      for (let x = from; x <= to; x += 2) row[x] = style.dim('·');
    }
  }
}

/** Draws each unbroken piece separately on the same scale, because asciichart does not support gaps. */
function drawLines(
  canvas: string[][],
  values: readonly (number | null)[],
  { low, high }: RoundScale,
  style: (text: string) => string,
): void {
  const width = canvas[0]?.length ?? 0;
  for (const { start, own } of pieces(stretched(values, width))) {
    const heights = own.map((value) => ((value - low) / (high - low)) * (canvas.length - 1));
    const drawn = asciichart.plot([[heights[0] ?? 0, ...heights]], {
      min: 0,
      max: canvas.length - 1,
      height: canvas.length - 1,
      offset: 1,
      format: () => ' ',
    });
    for (const [y, line] of drawn.split('\n').entries()) {
      for (const [x, character] of Array.from(line.slice(1)).entries()) {
        const row = canvas[y];
        if (row !== undefined && character !== ' ' && start + x < width) row[start + x] = style(character);
      }
    }
  }
}

/** One value for each column: the median of its steps, or of the nearest step. */
function stretched(values: readonly (number | null)[], width: number): (number | null)[] {
  const steps = values.length;
  const byColumn = Map.groupBy(values.entries(), ([step]) => columnOf(step, steps, width));
  return Array.from({ length: width }, (_, column) => {
    const own = byColumn.get(column)?.flatMap(([, value]) => value ?? []) ?? [];
    if (own.length > 0) return median(own);
    const nearest = steps < 2 ? 0 : Math.round((column / Math.max(1, width - 1)) * (steps - 1));
    return values[nearest] ?? null;
  });
}

function pieces(columns: readonly (number | null)[]): { start: number; own: number[] }[] {
  const found: { start: number; own: number[] }[] = [];
  for (const [column, value] of columns.entries()) {
    if (value === null) continue;
    const open = found.at(-1);
    if (open !== undefined && open.start + open.own.length === column) open.own.push(value);
    else found.push({ start: column, own: [value] });
  }
  return found;
}

const LABEL_GAP = 4;

/** The axis: ticks with as many labels as fit, and marks instead of ticks. */
function axisOf({ labels, look, marks }: HistoryChart, width: number, left: number): string[] {
  const line: string[] = Array.from({ length: width }, () => '─');
  const widest = Math.max(0, ...labels.map(textWidth)) + LABEL_GAP;
  const room = look.columns - left - 2;
  let text = '';
  for (const [step, label] of labels.entries()) {
    const column = columnOf(step, labels.length, width);
    const isFree = text === '' ? column + textWidth(label) <= room : column >= textWidth(text) + LABEL_GAP;
    const isNext = text === '' || column >= widest * Math.ceil(textWidth(text) / widest);
    if (!isFree || !isNext || label === '' || column + textWidth(label) > room) continue;
    text = padEnd(text, column) + label;
    line[column] = '┬';
  }
  for (const [step, mark] of marks) line[columnOf(step, labels.length, width)] = mark;
  const indent = ' '.repeat(left + 1);
  return [`${indent}└${line.join('')}`, `${indent} ${text}`.trimEnd()];
}

/** `ticks`: three to five round numbers from `low` on, as texts of equal precision. They are in equally spaced rows. */
type RoundScale = ReturnType<typeof roundScale>;

const MOST_TICKS = 5;

/**
 * The smallest scale that includes both values and has round numbers in equally spaced rows. `low` is below `high`.
 * @param rows rows of the chart, at least three
 */
export function roundScale(low: number, high: number, rows: number) {
  const rowsOfStep = Math.max(1, Math.ceil((rows - 1) / (MOST_TICKS - 1)));
  const finest = Math.floor(Math.log10(((high - low) / (rows - 1)) * rowsOfStep));
  const candidates = [finest, finest + 1].flatMap((exponent) =>
    [1, 2, 5].map((mantissa) => ({ step: mantissa * 10 ** exponent, decimals: Math.max(0, -exponent) })),
  );
  // Rows are counted from zero, and a row whose number is a multiple of a step has a label.
  const rowAt = (value: number, step: number): number => Math.floor((value / step) * rowsOfStep + ROUNDING);
  const fitting = candidates.find(({ step }) => ((rowAt(low, step) + rows - 1) * step) / rowsOfStep >= high);
  const { step, decimals } = fitting ?? { step: high - low, decimals: 4 };
  const lowest = rowAt(low, step);
  const ticks = Array.from({ length: rows }, (_, place) => lowest + place)
    .filter((row) => row % rowsOfStep === 0)
    .map((row) => ({ value: (row / rowsOfStep) * step, text: ((row / rowsOfStep) * step).toFixed(decimals) }));
  return { low: (lowest * step) / rowsOfStep, high: ((lowest + rows - 1) * step) / rowsOfStep, ticks };
}

/** Rounding error of a quotient that should be an integer. */
const ROUNDING = 1e-9;
