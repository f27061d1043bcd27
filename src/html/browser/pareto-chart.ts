import { ticks } from '../../statistics/histogram.ts';
import { formatMs, formatNumber } from '../../terminal/numbers.ts';
import type { PageData, PagePoint } from '../page-data.ts';
import { axisText, levels, picture, sized, svgLine, withTip } from './chart.ts';
import { colorKey, element, svg } from './dom.ts';
import { logarithmic, type Scale } from './geometry.ts';

const HEIGHT = 380;
const LEAST_POINTS = 2;

/** Of each model, throughput against latency on logarithmic scales; each point links to its cell. */
export function paretoChart({ workloads }: PageData): HTMLElement[] {
  const drawn = workloads.filter(({ points }) => points.length >= LEAST_POINTS);
  if (drawn.length === 0) return [];
  const key = 'Faint: another one is as good in everything. Hollow: accuracy not checked.';
  // One color for a precision in all charts.
  const precisions = [...new Set(drawn.flatMap(({ points }) => points.map(({ precision }) => precision)))];
  return [...drawn.map((workload) => draw(workload, precisions)), element('p', { class: 'key' }, key)];
}

function draw({ model, points }: PageData['workloads'][number], precisions: readonly string[]): HTMLElement {
  const chart = sized(element('div'), (width) => drawPoints(points, precisions, width));
  return element('div', {}, element('h3', {}, model.slice(0, 80)), chart, colorKey(precisions.entries()));
}

function drawPoints(points: readonly PagePoint[], precisions: readonly string[], width: number): SVGElement {
  const plot = { left: 62, right: width - 12, top: 12, bottom: HEIGHT - 48 };
  const [latencies, rates] = [points.map(({ latencyMs }) => latencyMs), points.map(({ itemsPerS }) => itemsPerS)];
  const x = logarithmic(latencies, [plot.left, plot.right]);
  const y = logarithmic(rates, [plot.bottom, plot.top]);
  return picture(
    'pareto',
    [width, HEIGHT],
    ['group', 'Items per second against the median latency; each point is a link to its cell'],
    ...roundNumbers(x.back(plot.left), x.back(plot.right)).flatMap((value) => [
      svgLine('grid', [x.at(value), plot.top], [x.at(value), plot.bottom]),
      axisText(String(value), [x.at(value), plot.bottom + 18], 'middle'),
    ]),
    ...levels(roundNumbers(y.back(plot.bottom), y.back(plot.top)), y, plot),
    axisText('median latency, ms', [(plot.left + plot.right) / 2, HEIGHT - 6], 'middle'),
    axisText('items/s', [plot.left + 6, 24]),
    ...points.map((point) => dot(point, precisions.indexOf(point.precision), x, y)),
  );
}

/** 1, 2 and 5 times powers of ten; in a narrow range, more of them. */
function roundNumbers(least: number, most: number): number[] {
  const powers = Array.from({ length: 24 }, (_, place) => place - 12);
  const round = powers
    .flatMap((power) => [1, 2, 5].map((factor) => Number(`${factor}e${power}`)))
    .filter((value) => value >= least && value <= most);
  return round.length > 2 ? round : ticks(least, most, 5).map((value) => Number(value.toPrecision(4)));
}

/** Radius of the pointer target in pixels. */
const REACH = 12;

function dot(point: PagePoint, kind: number, x: Scale, y: Scale): SVGElement {
  const { accuracy, isDominated, key, label, latencyMs, itemsPerS } = point;
  const lines = [
    label,
    `${formatNumber(itemsPerS)} items/s`,
    `median latency ${formatMs(latencyMs)}`,
    ...(accuracy === 'notChecked' ? ['accuracy not checked'] : []),
    ...(isDominated ? ['dominated by another configuration'] : []),
  ];
  const how = `${accuracy === 'notChecked' ? ' hollow' : ''}${isDominated ? ' dominated' : ''}`;
  const place = { cx: x.at(latencyMs), cy: y.at(itemsPerS) };
  const link = svg(
    'a',
    { href: `#cell=${key}`, 'aria-label': lines.join(', ') },
    svg('circle', { class: `point${how}`, kind, ...place, r: 6 }),
    svg('circle', { class: 'reach', ...place, r: REACH }),
  );
  return withTip(link, lines);
}
