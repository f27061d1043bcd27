import { ticks } from '../../statistics/histogram.ts';
import { formatMs, formatNumber } from '../../terminal/numbers.ts';
import type { PageData, PagePoint } from '../page-data.ts';
import { axisText, hideTip, levels, picture, showTip, sized, svgLine } from './chart.ts';
import { element, picked, svg } from './dom.ts';
import { logarithmic, type Scale, staircase } from './geometry.ts';

const HEIGHT = 380;
const LEAST_POINTS = 2;
const LEAST_OF_LINE = 3;

/** Throughput against latency on logarithmic scales; each point links to its cell. */
export function paretoChart({ workloads }: PageData): HTMLElement[] {
  const drawn = workloads.filter(({ points }) => points.length >= LEAST_POINTS);
  const key =
    'Line: the fastest configurations of a precision. Faint: another one is as good in everything. Hollow: accuracy not checked.';
  if (drawn.length === 0) return [];
  return [...picked('Model', drawn, ({ model }) => model.slice(0, 80), draw), element('p', { class: 'key' }, key)];
}

function draw({ points }: PageData['workloads'][number]): HTMLElement {
  return sized(element('div'), (width) => chart(points, width));
}

function chart(points: readonly PagePoint[], width: number): SVGElement {
  const plot = { left: 62, right: width - 52, top: 12, bottom: HEIGHT - 48 };
  const [latencies, rates] = [points.map(({ latencyMs }) => latencyMs), points.map(({ itemsPerS }) => itemsPerS)];
  const x = logarithmic(latencies, [plot.left, plot.right]);
  const y = logarithmic(rates, [plot.bottom, plot.top]);
  const lines = [...Map.groupBy(points, ({ precision }) => precision)].map(([precision, own], place) => {
    const corners = staircase(own);
    const kind = place % 8;
    return {
      // A line through few configurations is meaningless.
      line:
        own.length < LEAST_OF_LINE
          ? []
          : [svg('path', { class: 'stairs', kind, d: stairs(corners, x, y, plot.right) })],
      name: { text: precision, y: y.at(corners.at(-1)?.itemsPerS ?? 0) + 5 },
      dots: own.map((point) => dot(point, kind, x, y)),
    };
  });
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
    ...lines.flatMap(({ line }) => line),
    ...apart(lines.map(({ name }) => name)).map(({ text, y: at }) => axisText(text, [plot.right + 6, at])),
    ...lines.flatMap(({ dots }) => dots),
  );
}

const LINE_HEIGHT = 16;

/** Moves labels apart so that none overlaps another. */
function apart(names: readonly { readonly text: string; readonly y: number }[]) {
  let least = -Infinity;
  return names
    .toSorted((a, b) => a.y - b.y)
    .map(({ text, y }) => {
      const at = Math.max(y, least);
      least = at + LINE_HEIGHT;
      return { text, y: at };
    });
}

/** Path of steps: each corner holds until the next one, and the last one until the end. */
function stairs(corners: readonly PagePoint[], x: Scale, y: Scale, end: number): string {
  const steps = corners.map(({ latencyMs, itemsPerS }, place) => {
    const [across, up] = [x.at(latencyMs).toFixed(1), y.at(itemsPerS).toFixed(1)];
    return place === 0 ? `M${across} ${up}` : `H${across}V${up}`;
  });
  return `${steps.join('')}H${end}`;
}

/** Over a range with this ratio, logarithmic steps are better than linear ones. */
const WIDE = 8;

/** 1, 2 and 5 times powers of ten; more of them for a narrow range. */
function roundNumbers(least: number, most: number): number[] {
  if (most / least < WIDE) return ticks(least, most, 5).map((value) => Number(value.toPrecision(4)));
  const first = Math.floor(Math.log10(least));
  const powers = Array.from({ length: Math.ceil(Math.log10(most)) - first + 1 }, (_, place) => 10 ** (first + place));
  return powers
    .flatMap((power) => [1, 2, 5].map((factor) => Number((factor * power).toPrecision(3))))
    .filter((value) => value >= least && value <= most);
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
  link.addEventListener('pointermove', (event) => showTip(lines, event.clientX, event.clientY));
  link.addEventListener('focus', () => {
    const box = link.getBoundingClientRect();
    showTip(lines, box.right, box.bottom);
  });
  for (const end of ['pointerleave', 'blur']) link.addEventListener(end, hideTip);
  return link;
}
