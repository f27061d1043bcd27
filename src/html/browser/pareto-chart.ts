import type { PageData, PagePoint, PageWorkload } from '../page-types.ts';
import { formatMs, formatNumber } from '../../terminal/numbers.ts';
import { axisText, colourKey, element, note, pickedPicture, svg, svgLine } from './dom.ts';
import { ticks } from '../../statistics/ticks.ts';
import { linear, padded, type Scale } from './scale.ts';
import { hideTip, showTip } from './tip.ts';

const WIDTH = 760;
const HEIGHT = 340;
const LEFT = 70;
const BOTTOM = 44;
const LEAST_POINTS = 2;

/** Throughput against latency on logarithmic scales; each point links to its cell. */
export function paretoChart({ workloads }: PageData): HTMLElement {
  const drawn = workloads.filter(({ points }) => points.length >= LEAST_POINTS);
  if (drawn.length === 0) return note('Too few cells for a picture: the table has them.');
  const models = drawn.map(({ model }) => model.slice(0, 80));
  const draw = (place: number): Element | null => {
    const workload = drawn[place];
    return workload === undefined ? null : chart(workload);
  };
  return element('div', {}, ...pickedPicture('Model', models, draw));
}

function chart({ points }: PageWorkload): HTMLElement {
  const latencies = points.map(({ latencyMs }) => latencyMs);
  const x = logarithmic(latencies, [LEFT, WIDTH - 16]);
  const rates = points.map(({ itemsPerS }) => itemsPerS);
  const y = logarithmic(rates, [HEIGHT - BOTTOM, 12]);
  const precisions = [...new Set(points.map(({ precision }) => precision))];
  const front = points.filter(({ isFront }) => isFront).toSorted((a, b) => a.latencyMs - b.latencyMs);
  const path = front
    .map(({ latencyMs, itemsPerS }, place) => `${place === 0 ? 'M' : 'L'}${x.at(latencyMs)} ${y.at(itemsPerS)}`)
    .join('');
  const picture = svg(
    'svg',
    {
      class: 'pareto',
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: 'group',
      'aria-label': 'Items per second against the median latency; each point is a link to its cell',
    },
    ...axes(latencies, rates, x, y),
    svg('path', { class: 'front', d: path }),
    ...points.map((point) => dot(point, precisions.indexOf(point.precision), x, y)),
  );
  const kinds = precisions.map((precision, place) => [precision, place % 8] as const);
  return element('div', {}, picture, colourKey(kinds, 'filled: on the front'));
}

function logarithmic(values: readonly number[], pixels: readonly [number, number]): Scale {
  const scale = linear(padded(values.map(Math.log), 0.08), pixels);
  return { at: (value) => scale.at(Math.log(value)), back: (pixel) => Math.exp(scale.back(pixel)) };
}

function axes(xs: readonly number[], ys: readonly number[], x: Scale, y: Scale): SVGElement[] {
  return [
    ...roundNumbers(xs).flatMap((value) => [
      svgLine('grid', [x.at(value), 12], [x.at(value), HEIGHT - BOTTOM]),
      axisText(String(value), [x.at(value), HEIGHT - BOTTOM + 16], 'middle'),
    ]),
    ...roundNumbers(ys).flatMap((value) => [
      svgLine('grid', [LEFT, y.at(value)], [WIDTH - 16, y.at(value)]),
      axisText(String(value), [LEFT - 6, y.at(value) + 4], 'end'),
    ]),
    axisText('median latency, ms', [(LEFT + WIDTH) / 2, HEIGHT - 6], 'middle'),
    axisText('items/s', [LEFT + 6, 22]),
  ];
}

/** Over a range this wide, logarithmic steps are better than linear ones. */
const WIDE = 8;

/** 1, 2 and 5 times powers of ten; more of them for a narrow range. */
function roundNumbers(values: readonly number[]): number[] {
  const [least, most] = [Math.min(...values) * 0.95, Math.max(...values) * 1.05];
  if (most / least < WIDE) return ticks(least, most, 5).map((value) => Number(value.toPrecision(4)));
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(least)); 10 ** power <= most; power += 1) {
    for (const factor of [1, 2, 5]) {
      const value = Number((factor * 10 ** power).toPrecision(3));
      if (value >= least && value <= most) found.push(value);
    }
  }
  return found;
}

function dot(point: PagePoint, kind: number, x: Scale, y: Scale): SVGElement {
  const { key, label, latencyMs, itemsPerS, isFront } = point;
  const lines = [
    label,
    `${formatNumber(itemsPerS)} items/s`,
    `median latency ${formatMs(latencyMs)}`,
    isFront ? 'on the front' : 'another one is better in something and worse in nothing',
  ];
  const link = svg(
    'a',
    { href: `#cell=${key}`, 'aria-label': lines.join(', ') },
    svg('circle', {
      class: `point kind-${kind % 8}${isFront ? ' front' : ''}`,
      cx: x.at(latencyMs),
      cy: y.at(itemsPerS),
      r: 6,
    }),
  );
  link.addEventListener('pointermove', (event) => showTip(lines, event.clientX, event.clientY));
  link.addEventListener('pointerleave', hideTip);
  link.addEventListener('focus', () => {
    const box = link.getBoundingClientRect();
    showTip(lines, box.right, box.bottom);
  });
  link.addEventListener('blur', hideTip);
  return link;
}
