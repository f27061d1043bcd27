import type { PageCell, PageData, SweepValue } from '../page-types.ts';
import { valuesOf } from './data.ts';
import { svg } from './dom.ts';
import { linear, rangeOf, type Scale } from './scale.ts';
import { BOTTOM, grid, LEFT, RIGHT, TOP, type TrendFrame } from './trend-axes.ts';
import { baselineLevels, levelLines, markLines } from './trend-marks.ts';

const POINTS_UP_TO = 130;

export interface TrendDrawing {
  readonly picture: SVGSVGElement;
  readonly x: Scale;
  readonly y: Scale;
}

/** @param others cells in the same unit, drawn as dashed lines */
export function drawTrend(
  data: PageData,
  cell: PageCell,
  frame: TrendFrame,
  others: readonly PageCell[] = [],
): TrendDrawing {
  const { width, height, from, to } = frame;
  const values = valuesOf(cell);
  const shown = values.slice(from, to + 1).filter((sweep) => sweep !== null);
  const x = linear([from - 0.5, to + 0.5], [LEFT, width - RIGHT]);
  const further = others.flatMap((one) =>
    valuesOf(one)
      .slice(from, to + 1)
      .flatMap((sweep) => sweep?.value ?? []),
  );
  const range = rangeOf([...shown.flatMap(({ least, most }) => [least, most]), ...further], cell.most);
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
  for (const [place, one] of others.entries()) {
    const lines = pieces(one, frame).flatMap((piece) => piecePaths(piece, x, y).slice(1));
    for (const line of lines) line.classList.add(`other-${place}`);
    plot.append(...lines);
  }
  if (to - from < POINTS_UP_TO) {
    for (let sweep = from; sweep <= to; sweep += 1) {
      const found = values[sweep] ?? null;
      if (found === null) continue;
      plot.append(svg('circle', { class: 'dot', cx: x.at(sweep), cy: y.at(found.value), r: 3 }));
    }
  }
  plot.append(...levelLines(cell, frame, x, y), ...baselineLevels(cell, frame, x, y));
  picture.append(...grid(data, cell.unit, frame, x, y, range), plot, ...markLines(data, cell, frame, x));
  return { picture, x, y };
}

type Piece = (SweepValue & { sweep: number })[];

/** Runs of sweeps without a gap, on one machine. */
function pieces(cell: PageCell, { from, to }: TrendFrame): Piece[] {
  const values = valuesOf(cell);
  const breaks = new Set(cell.marks.filter((mark) => mark.breaksLine).map(({ step }) => step));
  const found: Piece[] = [];
  let isOpen = false;
  // One more at each end, so that the line extends beyond the chart.
  for (let sweep = Math.max(0, from - 1); sweep <= Math.min(values.length - 1, to + 1); sweep += 1) {
    const entry = values[sweep] ?? null;
    if (entry === null || breaks.has(sweep)) isOpen = false;
    if (entry === null) continue;
    if (!isOpen) found.push([]);
    found.at(-1)?.push({ sweep, ...entry });
    isOpen = true;
  }
  return found;
}

function piecePaths(piece: Piece, x: Scale, y: Scale): SVGElement[] {
  const point = (sweep: number, value: number): string => `${x.at(sweep).toFixed(1)} ${y.at(value).toFixed(1)}`;
  const line = piece.map(({ sweep, value }) => point(sweep, value)).join('L');
  const above = piece.map(({ sweep, most }) => point(sweep, most));
  const below = piece.map(({ sweep, least }) => point(sweep, least)).toReversed();
  return [
    svg('path', { class: 'band', d: `M${[...above, ...below].join('L')}Z` }),
    svg('path', { class: 'line', d: `M${line}` }),
  ];
}
