import asciichart from 'asciichart';

import type { Look } from '../look.ts';
import { padEnd, padStart, textWidth } from '../text-width.ts';

export interface ChartSeries {
  readonly values: readonly (number | null)[];
  readonly style: (text: string) => string;
  /** A character after the end of the line: color alone must not tell lines apart. */
  readonly mark?: string;
}

export interface LineChart {
  /** Equal lengths: one value per step, null for a gap. */
  readonly series: readonly ChartSeries[];
  readonly labels: readonly string[];
  /** Steps with a tick on the axis, such as the first run of each sweep. */
  readonly ticks: ReadonlySet<number>;
  /** Signs on the axis in place of ticks, by step. */
  readonly signs: ReadonlyMap<number, string>;
  readonly format: (value: number) => string;
  readonly height: number;
  readonly look: Look;
}

/** Minimum range relative to the value: noise must not look like a change. */
const LEAST_RANGE = 0.01;
const MAX_STEP_COLUMNS = 8;

/** Lines by asciichart, which has no gaps: each unbroken piece is drawn on the same scale and put in its place. */
export function renderLineChart(chart: LineChart): string[] {
  const { series, labels, format, look } = chart;
  const finite = series.flatMap(({ values }) => values.filter((value) => value !== null));
  if (finite.length === 0) return ['(nothing was measured)'];
  const { low, high } = range(finite);
  const top = format(high);
  const labelWidth = Math.max(textWidth(top), textWidth(format(low)));
  const marks = series.filter(({ mark }) => mark !== undefined).length;
  const markColumns = marks === 0 ? 0 : marks + 1;
  const available = Math.max(8, look.columns - labelWidth - 2 - markColumns);
  const steps = labels.length;
  const plan = columnPlan(steps, available, Math.max(0, ...labels.map(textWidth)));
  const canvas = drawAll(chart, plan, low, high);
  const rows = canvas.length;
  const lines = canvas.map((row, index) => {
    const value = rows === 1 ? high : high - (index * (high - low)) / (rows - 1);
    return `${padStart(format(value), labelWidth)} ┤${row.join('').trimEnd()}`;
  });
  return [...lines, ...axis(chart, plan, labelWidth)];
}

interface ColumnPlan {
  /** Columns per step; below 1 when several steps share one. */
  readonly stepColumns: number;
  readonly width: number;
}

/** A few steps are as wide as their labels. */
function columnPlan(steps: number, available: number, labelWidth: number): ColumnPlan {
  const widest = Math.max(MAX_STEP_COLUMNS, labelWidth + LABEL_GAP);
  const stepColumns =
    steps <= available ? Math.max(1, Math.min(widest, Math.floor(available / steps))) : available / steps;
  return { stepColumns, width: Math.min(available, Math.ceil(steps * stepColumns)) };
}

function columnOf(step: number, { stepColumns, width }: ColumnPlan): number {
  return Math.min(width - 1, Math.floor(step * stepColumns));
}

function range(values: readonly number[]): { low: number; high: number } {
  const min = Math.min(...values);
  const max = Math.max(...values);
  const least = Math.abs((min + max) / 2) * LEAST_RANGE;
  const pad = Math.max(0, (least - (max - min)) / 2);
  return { low: min - pad, high: max + pad };
}

function drawAll(chart: LineChart, plan: ColumnPlan, low: number, high: number): string[][] {
  let canvas: string[][] = [];
  const marks = new Map<number, string>();
  for (const { values, style, mark } of chart.series) {
    const drawn = pieces(toColumns(values, plan));
    for (const piece of drawn) {
      const rows = drawPiece(piece.values, low, high, chart.height);
      if (canvas.length === 0) {
        canvas = rows.map(() => Array.from({ length: plan.width }, () => ' '));
      }
      rows.forEach((row, y) => {
        [...row].forEach((character, x) => {
          const target = canvas[y];
          if (target !== undefined && character !== ' ') target[piece.start + x] = style(character);
        });
      });
    }
    const end = drawn.at(-1);
    if (mark !== undefined && end !== undefined) {
      const row = rowOf(end.values.at(-1) ?? low, low, high, canvas.length);
      marks.set(row, (marks.get(row) ?? '') + style(mark));
    }
  }
  for (const [row, text] of marks) canvas[row]?.push(` ${text}`);
  return canvas;
}

/** The row in which asciichart draws a value, from the top. */
function rowOf(value: number, low: number, high: number, rows: number): number {
  if (rows < 2 || high === low) return 0;
  const ratio = (rows - 1) / (high - low);
  return rows - 1 - (Math.round(value * ratio) - Math.round(low * ratio));
}

/** One value per column: steps are stretched, or averaged into a column. */
function toColumns(values: readonly (number | null)[], plan: ColumnPlan): (number | null)[] {
  const sums = Array.from({ length: plan.width }, () => ({ sum: 0, count: 0 }));
  values.forEach((value, step) => {
    if (value === null) return;
    const from = columnOf(step, plan);
    const to = Math.max(from + 1, columnOf(step + 1, plan) + (step === values.length - 1 ? 1 : 0));
    for (let column = from; column < Math.min(to, plan.width); column += 1) {
      const cell = sums[column];
      if (cell === undefined) continue;
      cell.sum += value;
      cell.count += 1;
    }
  });
  return sums.map(({ sum, count }) => (count === 0 ? null : sum / count));
}

function pieces(columns: readonly (number | null)[]): { start: number; values: number[] }[] {
  const found: { start: number; values: number[] }[] = [];
  columns.forEach((value, column) => {
    if (value === null) return;
    const open = found.at(-1);
    if (open !== undefined && open.start + open.values.length === column) open.values.push(value);
    else found.push({ start: column, values: [value] });
  });
  return found;
}

/** asciichart's axis takes the first column; the first value is doubled to have its own. */
function drawPiece(values: readonly number[], low: number, high: number, height: number): string[] {
  const [first = 0] = values;
  const drawn = asciichart.plot([[first, ...values]], { min: low, max: high, height, offset: 1, format: () => ' ' });
  return drawn.split('\n').map((line) => line.slice(1));
}

const LABEL_GAP = 2;

function axis(chart: LineChart, plan: ColumnPlan, labelWidth: number): string[] {
  const line = Array.from({ length: plan.width }, () => '─');
  for (const step of chart.ticks) line[columnOf(step, plan)] = '┬';
  for (const [step, sign] of chart.signs) line[columnOf(step, plan)] = sign;
  let text = '';
  for (const step of labelledSteps(chart)) {
    const column = columnOf(step, plan);
    const label = chart.labels[step] ?? '';
    const fits = column + textWidth(label) <= chart.look.columns - labelWidth - 2;
    const isFree = text === '' ? column === 0 : column >= textWidth(text) + LABEL_GAP;
    if (fits && isFree) text = padEnd(text, column) + label;
  }
  const indent = ' '.repeat(labelWidth + 1);
  return [`${indent}└${line.join('')}`, `${indent} ${text}`.trimEnd()];
}

/** Ticks first; without any, every step. */
function labelledSteps({ labels, ticks }: LineChart): number[] {
  const all = labels.map((_, step) => step);
  return ticks.size > 0 ? all.filter((step) => step === 0 || ticks.has(step)) : all;
}

const SPARKS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

export function sparkline(values: readonly (number | null)[], width: number): string {
  const finite = values.filter((value) => value !== null);
  if (finite.length === 0) return '';
  const { low, high } = range(finite);
  const plan = { stepColumns: Math.min(1, width / values.length), width: Math.min(width, values.length) };
  return toColumns(values, plan)
    .map((value) => {
      if (value === null) return ' ';
      const eighth = high === low ? 0 : Math.round(((value - low) / (high - low)) * 7);
      return SPARKS[eighth] ?? ' ';
    })
    .join('');
}
