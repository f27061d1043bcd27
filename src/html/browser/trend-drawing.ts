import type { PageCell, PageData, SweepValue } from '../page-types.ts';
import { formatNumber } from '../../terminal/numbers.ts';
import { valuesOf } from './data.ts';
import { axisText, svg, svgLine } from './dom.ts';
import { ticks } from '../../statistics/ticks.ts';
import { linear, padded, type Scale } from './scale.ts';

export interface TrendFrame {
  readonly width: number;
  readonly height: number;
  /** Range of displayed sweeps, both ends included. */
  readonly from: number;
  readonly to: number;
}

const LEFT = 68;
const RIGHT = 12;
const TOP = 36;
const BOTTOM = 26;
const POINTS_UP_TO = 130;

export interface TrendDrawing {
  readonly picture: SVGSVGElement;
  readonly x: Scale;
  readonly y: Scale;
  /** As it is drawn: in percent of its level where there are others. */
  readonly drawn: PageCell;
}

/** @param others cells drawn as dashed lines; all are then in percent of their own level */
export function drawTrend(
  data: PageData,
  own: PageCell,
  frame: TrendFrame,
  others: readonly PageCell[] = [],
): TrendDrawing {
  const cell = others.length === 0 ? own : inPercent(own);
  const compared = others.map(inPercent);
  const { width, height, from, to } = frame;
  const nights = valuesOf(cell);
  const shown = nights.slice(from, to + 1).filter((night) => night !== null);
  const x = linear([from - 0.5, to + 0.5], [LEFT, width - RIGHT]);
  const further = compared.flatMap((one) =>
    valuesOf(one)
      .slice(from, to + 1)
      .flatMap((night) => night?.value ?? []),
  );
  const range = rangeOf([...shown.flatMap(({ least, most }) => [least, most]), ...further]);
  const y = linear(range, [height - BOTTOM, TOP]);
  const picture = svg('svg', {
    class: 'trend',
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    'aria-hidden': 'true',
    focusable: 'false',
  });
  const area = { x: LEFT, y: TOP, width: width - LEFT - RIGHT, height: height - TOP - BOTTOM };
  // A picture inside the picture cuts off what lies outside it.
  const plot = svg('svg', { class: 'plot', ...area, viewBox: `${area.x} ${area.y} ${area.width} ${area.height}` });
  plot.append(...pieces(cell, frame).flatMap((piece) => piecePaths(piece, x, y)));
  for (const [place, one] of compared.entries()) {
    const lines = pieces(one, frame).flatMap((piece) => piecePaths(piece, x, y).slice(1));
    for (const line of lines) line.classList.add(`other-${place}`);
    plot.append(...lines);
  }
  if (to - from < POINTS_UP_TO) {
    for (let night = from; night <= to; night += 1) {
      const found = nights[night] ?? null;
      if (found === null) continue;
      plot.append(svg('circle', { class: 'dot', cx: x.at(night), cy: y.at(found.value), r: 3 }));
    }
  }
  plot.append(...levelLines(cell, frame, x, y), ...baselineLevels(cell, frame, x, y));
  picture.append(...grid(data, cell.unit, frame, x, y, range), plot, ...markLines(data, cell, frame, x));
  return { picture, x, y, drawn: cell };
}

/** In percent of the median of its sweeps. */
function inPercent(cell: PageCell): PageCell {
  const values = cell.values.flatMap((night) => (night === null ? [] : [night[0]]));
  const factor = 100 / (values.toSorted((a, b) => a - b)[values.length >> 1] || 1);
  const nights = cell.values.map((night): PageCell['values'][number] => {
    if (night === null) return null;
    const [value, least, most, runs, environment] = night;
    return [value * factor, least * factor, most * factor, runs, environment];
  });
  return { ...cell, unit: '% of level', values: nights };
}

/** Least vertical range, relative to the value: with less, noise would look like a change. */
const LEAST_SPAN = 0.01;

function rangeOf(values: readonly number[]): [number, number] {
  if (values.length === 0) return [0, 1];
  const [least, most] = padded(values, 0.08);
  const middle = (least + most) / 2;
  const half = Math.max(most - least, LEAST_SPAN * Math.abs(middle)) / 2;
  return [middle - half, middle + half];
}

/** Median of the sweeps between two change points; none if nothing changed. */
function levelLines(cell: PageCell, { from, to }: TrendFrame, x: Scale, y: Scale): SVGElement[] {
  const nights = valuesOf(cell);
  const changes = cell.marks.filter(({ kind }) => kind === 'slower' || kind === 'faster').map(({ step }) => step);
  if (changes.length === 0) return [];
  const ends = [0, ...changes, nights.length];
  return ends.slice(1).flatMap((end, place) => {
    const start = ends[place] ?? 0;
    const [a, b] = [Math.max(start, from), Math.min(end - 1, to)];
    const sorted = nights
      .slice(start, end)
      .flatMap((night) => night?.value ?? [])
      .toSorted((one, other) => one - other);
    const middle = sorted[sorted.length >> 1];
    if (middle === undefined || a > b) return [];
    const at = y.at(middle);
    return [svgLine('level', [x.at(a - 0.5), at], [x.at(b + 0.5), at])];
  });
}

type Piece = (SweepValue & { night: number })[];

/** Runs of sweeps without a gap, on one machine. */
function pieces(cell: PageCell, { from, to }: TrendFrame): Piece[] {
  const nights = valuesOf(cell);
  const breaks = new Set(cell.marks.filter((mark) => mark.breaksLine).map(({ step }) => step));
  const found: Piece[] = [];
  let isOpen = false;
  // One more at each end, so that the line extends beyond the chart.
  for (let night = Math.max(0, from - 1); night <= Math.min(nights.length - 1, to + 1); night += 1) {
    const entry = nights[night] ?? null;
    if (entry === null || breaks.has(night)) isOpen = false;
    if (entry === null) continue;
    if (!isOpen) found.push([]);
    found.at(-1)?.push({ night, ...entry });
    isOpen = true;
  }
  return found;
}

function piecePaths(piece: Piece, x: Scale, y: Scale): SVGElement[] {
  const point = (night: number, value: number): string => `${x.at(night).toFixed(1)} ${y.at(value).toFixed(1)}`;
  const line = piece.map(({ night, value }) => point(night, value)).join('L');
  const above = piece.map(({ night, most }) => point(night, most));
  const below = piece.map(({ night, least }) => point(night, least)).toReversed();
  return [
    svg('path', { class: 'band', d: `M${[...above, ...below].join('L')}Z` }),
    svg('path', { class: 'line', d: `M${line}` }),
  ];
}

function grid(
  data: PageData,
  unit: string,
  { width, height, from, to }: TrendFrame,
  x: Scale,
  y: Scale,
  [least, most]: readonly [number, number],
): SVGElement[] {
  const lines = ticks(least, most, 5).flatMap((value) => [
    svgLine('grid', [LEFT, y.at(value)], [width - RIGHT, y.at(value)]),
    axisText(formatNumber(value), [LEFT - 6, y.at(value) + 4], 'end'),
  ]);
  const days = new Set(data.sweeps.starts.slice(from, to + 1).map((start) => start.slice(0, 10)));
  const dates = ticks(from, to, Math.max(2, Math.floor(width / 110)))
    .filter((night) => Number.isInteger(night))
    .map((night) => {
      const start = data.sweeps.starts[night] ?? '';
      const text = (days.size === 1 ? start.slice(11) : dayName(start)) || (data.sweeps.ids[night]?.slice(0, 8) ?? '');
      return axisText(text, [clampText(x.at(night), width), height - 8], 'middle');
    });
  return [axisText(unit, [LEFT - 6, TOP - 8], 'end'), ...lines, ...dates];
}

const HALF_DATE = 36;

function clampText(at: number, width: number): number {
  return Math.min(width - HALF_DATE, Math.max(LEFT, at));
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `24 Feb` of `2026-02-24 02:00`; empty for an unknown time. */
function dayName(start: string): string {
  return start === '' ? '' : `${Number(start.slice(8, 10))} ${MONTHS[Number(start.slice(5, 7)) - 1] ?? ''}`;
}

type Mark = PageCell['marks'][number];

/** Lines of the sweeps at which something changed. Labels: newest change first, as many as have room. */
function markLines(data: PageData, cell: PageCell, { width, height, from, to }: TrendFrame, x: Scale): SVGElement[] {
  const taken: (readonly [row: number, from: number, to: number])[] = [];
  const shown = cell.marks.filter(({ step }) => step >= from && step <= to);
  return shown.toReversed().flatMap((mark) => {
    const { step, kind, breaksLine } = mark;
    const at = x.at(step) - (kind === 'baseline' ? 0 : 0.5 * (x.at(1) - x.at(0)));
    const isChange = kind === 'slower' || kind === 'faster';
    const top = TOP - (isChange ? 20 : 4);
    const line = svgLine(`mark ${kind}${breaksLine ? ' breaks' : ''}`, [at, top], [at, height - BOTTOM]);
    const text = markLabel(data, mark);
    const long = text.length * LETTER;
    const start = at + long > width - RIGHT ? at - long : at;
    if (start < LEFT || taken.some(([row, a, b]) => row === top && start < b && start + long > a)) return [line];
    taken.push([top, start, start + long]);
    const anchor = start < at ? 'end' : 'start';
    return [line, svg('text', { class: `sign ${kind}`, x: at, y: top - 4, 'text-anchor': anchor }, text)];
  });
}

/** Width of a letter of a label, at the most, in pixels. */
const LETTER = 6.6;
const LONGEST = 32;

function markLabel({ sweeps }: PageData, { step, kind, text }: Mark): string {
  if (kind !== 'slower' && kind !== 'faster') {
    return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
  }
  const [size = ''] = text.split(',');
  const known = [sweeps.commits[step]?.slice(0, 8), dayName(sweeps.starts[step] ?? '')];
  return [`${kind} ${size}`, ...known.filter(Boolean)].join(' · ');
}

function baselineLevels(cell: PageCell, { width, to }: TrendFrame, x: Scale, y: Scale): SVGElement[] {
  return cell.marks.flatMap(({ step, kind }) => {
    const value = valuesOf(cell)[step]?.value;
    if (kind !== 'baseline' || value === undefined || step > to) return [];
    return [svgLine('level baseline', [x.at(step), y.at(value)], [width - RIGHT, y.at(value)])];
  });
}
