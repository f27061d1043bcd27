import { type Look, padStart, textWidth } from '../look.ts';

export interface ScatterPoint {
  readonly x: number;
  readonly y: number;
  readonly mark: string;
  readonly style: (text: string) => string;
}

export interface ScatterChart {
  readonly points: readonly ScatterPoint[];
  readonly height: number;
  readonly xLabel: string;
  readonly format: (value: number) => string;
  readonly look: Look;
}

const MAX_COLUMNS = 72;

/** A chart of points on log scales, for values above 0. A point whose place is taken goes next to it. */
export function renderScatter(chart: ScatterChart): string[] {
  const { height, format, look, xLabel } = chart;
  const points = chart.points.filter(({ x, y }) => x > 0 && y > 0);
  if (points.length === 0) return [];
  const xs = scaleOf(points.map(({ x }) => x));
  const ys = scaleOf(points.map(({ y }) => y));
  const labelWidth = Math.max(textWidth(format(ys.high)), textWidth(format(ys.low)));
  const width = Math.max(8, Math.min(MAX_COLUMNS, look.columns - labelWidth - 2));
  const canvas = Array.from({ length: height }, () => Array.from({ length: width }, () => ' '));
  for (const { x, y, mark, style } of points) {
    const column = Math.round(xs.place(x) * (width - 1));
    const row = Math.round((1 - ys.place(y)) * (height - 1));
    const target = canvas[row] ?? [];
    const free = [target.indexOf(' ', column), target.lastIndexOf(' ', column)].find((place) => place !== -1);
    target[free ?? column] = style(mark);
  }
  const lines = canvas.map((row, index) => {
    const label = index === 0 ? format(ys.high) : index === height - 1 ? format(ys.low) : '';
    return `${padStart(label, labelWidth)} ┤${row.join('').trimEnd()}`;
  });
  const [left, right] = [format(xs.low), format(xs.high)];
  const middle = ` ${xLabel} `;
  const room = width - textWidth(left) - textWidth(right);
  const between = textWidth(middle) <= room ? padStart(middle, Math.floor((room + textWidth(middle)) / 2)) : '';
  const indent = ' '.repeat(labelWidth + 1);
  return [
    ...lines,
    `${indent}└${'─'.repeat(width)}`,
    `${indent} ${left}${between}${padStart(right, width - textWidth(left) - textWidth(between))}`,
  ];
}

/** `place`: position from 0 at the lowest value to 1 at the highest. */
function scaleOf(values: readonly number[]) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const span = Math.log(high / low);
  return { low, high, place: (value: number) => (span === 0 ? 0.5 : Math.log(value / low) / span) };
}
