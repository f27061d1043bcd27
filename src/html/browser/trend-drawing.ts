import type { PageCell, PageData, ReportNight } from '../page-types.ts';
import { formatNumber } from '../../terminal/numbers.ts';
import { nightsOf } from './data.ts';
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

const LEFT = 64;
const RIGHT = 12;
const TOP = 26;
const BOTTOM = 26;
const POINTS_UP_TO = 130;

export interface TrendDrawing {
  readonly picture: SVGSVGElement;
  readonly x: Scale;
  readonly y: Scale;
}

export function drawTrend(data: PageData, cell: PageCell, frame: TrendFrame): TrendDrawing {
  const { width, height, from, to } = frame;
  const nights = nightsOf(cell);
  const shown = nights.slice(from, to + 1).filter((night) => night !== null);
  const x = linear([from - 0.5, to + 0.5], [LEFT, width - RIGHT]);
  const range = rangeOf(shown.flatMap(({ least, most }) => [least, most]));
  const y = linear(range, [height - BOTTOM, TOP]);
  const picture = svg('svg', {
    class: 'trend',
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    'aria-hidden': 'true',
    focusable: 'false',
  });
  picture.append(...grid(data, frame, x, y, range));
  picture.append(...pieces(cell, frame).flatMap((piece) => piecePaths(piece, x, y)));
  if (to - from < POINTS_UP_TO) {
    for (let night = from; night <= to; night += 1) {
      const found = nights[night] ?? null;
      if (found === null) continue;
      picture.append(svg('circle', { class: 'dot', cx: x.at(night), cy: y.at(found.value), r: 3 }));
    }
  }
  picture.append(...levelLines(cell, frame, x, y), ...markLines(cell, frame, x, y));
  return { picture, x, y };
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
  const nights = nightsOf(cell);
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

type Piece = (ReportNight & { night: number })[];

/** Runs of sweeps without a gap, on one machine. */
function pieces(cell: PageCell, { from, to }: TrendFrame): Piece[] {
  const nights = nightsOf(cell);
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
  const dates = ticks(from, to, Math.max(2, Math.floor(width / 130)))
    .filter((night) => Number.isInteger(night))
    .map((night) => {
      const start = data.sweeps.starts[night] ?? '';
      const text =
        (days.size === 1 ? start.slice(11) : start.slice(0, 10)) || (data.sweeps.ids[night]?.slice(0, 8) ?? '');
      return axisText(text, [clampText(x.at(night), width), height - 8], 'middle');
    });
  return [...lines, ...dates];
}

const HALF_DATE = 36;

function clampText(at: number, width: number): number {
  return Math.min(width - HALF_DATE, Math.max(LEFT, at));
}

const SIGNS = { slower: '▲', faster: '▼', environment: '⚙', baseline: '◆' } as const;

function markLines(cell: PageCell, frame: TrendFrame, x: Scale, y: Scale): SVGElement[] {
  const { width, height, from, to } = frame;
  const nights = nightsOf(cell);
  const lines = cell.marks.flatMap(({ step, kind, breaksLine }): SVGElement[] => {
    const value = nights[step]?.value;
    const level =
      kind === 'baseline' && value !== undefined
        ? [svgLine('level baseline', [Math.max(LEFT, x.at(step)), y.at(value)], [width - RIGHT, y.at(value)])]
        : [];
    if (step < from || step > to) return step < from ? level : [];
    const at = x.at(step) - (kind === 'baseline' ? 0 : 0.5 * (x.at(1) - x.at(0)));
    return [
      ...level,
      svgLine(`mark ${kind}${breaksLine ? ' breaks' : ''}`, [at, TOP - 6], [at, height - BOTTOM]),
      svg('text', { class: `sign ${kind}`, x: at, y: TOP - 10, 'text-anchor': 'middle' }, SIGNS[kind]),
    ];
  });
  return lines.filter((line) => !line.classList.contains('level') || isInside(line, height));
}

function isInside(line: SVGElement, height: number): boolean {
  const at = Number(line.getAttribute('y1'));
  return at >= TOP && at <= height - BOTTOM;
}
