import type { PageData, PagePoint, PageWorkload } from '../page-types.ts';
import { formatMs, formatNumber } from '../../terminal/numbers.ts';
import { element, picker, svg } from './dom.ts';
import { linear, padded, type Scale, ticks } from './scale.ts';
import { hideTip, showTip } from './tip.ts';

const WIDTH = 760;
const HEIGHT = 340;
const LEFT = 70;
const BOTTOM = 44;
const LEAST_POINTS = 2;

/** Throughput against latency on logarithmic scales; each point is a link to its cell. */
export function paretoChart({ workloads }: PageData): HTMLElement {
  const drawn = workloads.filter(({ points }) => points.length >= LEAST_POINTS);
  if (drawn.length === 0) {
    return element('p', { class: 'note' }, 'Too few cells for a picture: the table has them.');
  }
  const stage = element('div');
  const draw = (place: number): void => {
    const workload = drawn[place];
    stage.replaceChildren(...(workload === undefined ? [] : [chart(workload)]));
  };
  draw(0);
  return element(
    'div',
    {},
    picker(
      'Model',
      drawn.map(({ model }) => model.slice(0, 80)),
      0,
      draw,
    ),
    stage,
  );
}

function chart({ points }: PageWorkload): HTMLElement {
  const x = logarithmic(
    points.map(({ latencyMs }) => latencyMs),
    [LEFT, WIDTH - 16],
  );
  const y = logarithmic(
    points.map(({ itemsPerS }) => itemsPerS),
    [HEIGHT - BOTTOM, 12],
  );
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
    ...axes(points, x, y),
    svg('path', { class: 'front', d: path }),
    ...points.map((point) => dot(point, precisions.indexOf(point.precision), x, y)),
  );
  return element(
    'div',
    {},
    picture,
    element(
      'p',
      { class: 'key' },
      ...precisions.flatMap((precision, place) => [
        element('i', { class: `swatch kind-${place % 8}` }),
        element('span', {}, `${precision} `),
      ]),
      'filled: on the front',
    ),
  );
}

function logarithmic(values: readonly number[], pixels: readonly [number, number]): Scale {
  const scale = linear(padded(values.map(Math.log), 0.08), pixels);
  return { at: (value) => scale.at(Math.log(value)), back: (pixel) => Math.exp(scale.back(pixel)) };
}

function axes(points: readonly PagePoint[], x: Scale, y: Scale): SVGElement[] {
  const [xs, ys] = [points.map((point) => point.latencyMs), points.map((point) => point.itemsPerS)];
  return [
    ...roundNumbers(xs).flatMap((value) => [
      svg('line', { class: 'grid', x1: x.at(value), x2: x.at(value), y1: 12, y2: HEIGHT - BOTTOM }),
      svg('text', { class: 'axis', x: x.at(value), y: HEIGHT - BOTTOM + 16, 'text-anchor': 'middle' }, String(value)),
    ]),
    ...roundNumbers(ys).flatMap((value) => [
      svg('line', { class: 'grid', x1: LEFT, x2: WIDTH - 16, y1: y.at(value), y2: y.at(value) }),
      svg('text', { class: 'axis', x: LEFT - 6, y: y.at(value) + 4, 'text-anchor': 'end' }, String(value)),
    ]),
    svg('text', { class: 'axis', x: (LEFT + WIDTH) / 2, y: HEIGHT - 6, 'text-anchor': 'middle' }, 'median latency, ms'),
    svg('text', { class: 'axis', x: LEFT + 6, y: 22 }, 'items/s'),
  ];
}

/** Over so wide a range steps that are even on a logarithmic scale are better than even numbers. */
const WIDE = 8;

/** 1, 2 and 5 times powers of ten within some values; of a narrow range more of them. */
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
