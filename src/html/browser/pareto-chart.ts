import type { PageData, PagePoint, PageWorkload } from '../page-types.ts';
import { formatMs, formatNumber } from '../../terminal/numbers.ts';
import { axisText, element, note, pickedPicture, svg, svgLine } from './dom.ts';
import { ticks } from '../../statistics/ticks.ts';
import { linear, padded, type Scale } from './scale.ts';
import { staircase } from './staircase.ts';
import { hideTip, showTip } from './tip.ts';

const HEIGHT = 340;
const MOST_WIDTH = 820;
const LEFT = 58;
/** Room for the names of the lines. */
const RIGHT = 52;
const BOTTOM = 44;
const LEAST_POINTS = 2;

/** Throughput against latency on logarithmic scales; each point links to its cell. */
export function paretoChart({ workloads }: PageData): HTMLElement {
  const drawn = workloads.filter(({ points }) => points.length >= LEAST_POINTS);
  if (drawn.length === 0) return note('Too few cells for a picture: the table has them.');
  const models = drawn.map(({ model }) => model.slice(0, 80));
  const draw = (place: number): Element | null => {
    const workload = drawn[place];
    if (workload === undefined) return null;
    const stage = element('div');
    new ResizeObserver(() => {
      stage.replaceChildren(chart(workload, Math.min(MOST_WIDTH, Math.max(280, stage.clientWidth))));
    }).observe(stage);
    return stage;
  };
  const key =
    'Line: the fastest configurations of a precision. Faint: dominated by more than the noise. Hollow: accuracy not checked.';
  return element(
    'div',
    {},
    ...(models.length > 1 ? pickedPicture('Model', models, draw) : [draw(0)]),
    element('p', { class: 'key' }, key),
  );
}

function chart({ points }: PageWorkload, width: number): SVGElement {
  const latencies = points.map(({ latencyMs }) => latencyMs);
  const x = logarithmic(latencies, [LEFT, width - RIGHT]);
  const rates = points.map(({ itemsPerS }) => itemsPerS);
  const y = logarithmic(rates, [HEIGHT - BOTTOM, 12]);
  const lines = [...Map.groupBy(points, ({ precision }) => precision)].map(([precision, own], place) => {
    const { corners, dominators } = staircase(own);
    const kind = `kind-${place % 8}`;
    const end = corners.at(-1);
    return {
      line: svg('path', { class: `stairs ${kind}`, d: stairs(corners, x, y, width - RIGHT) }),
      name: { text: precision, y: y.at(end?.itemsPerS ?? 0) + 4 },
      dots: own.map((point) => dot(point, dominators.get(point) ?? null, kind, x, y)),
    };
  });
  return svg(
    'svg',
    {
      class: 'pareto',
      viewBox: `0 0 ${width} ${HEIGHT}`,
      role: 'group',
      'aria-label': 'Items per second against the median latency; each point is a link to its cell',
    },
    ...axes(latencies, rates, x, y, width - RIGHT),
    ...lines.map(({ line }) => line),
    ...apart(lines.map(({ name }) => name)).map(({ text, y: at }) => axisText(text, [width - RIGHT + 6, at])),
    ...lines.flatMap(({ dots }) => dots),
  );
}

const LINE_HEIGHT = 14;

/** From top to bottom, none over another. */
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

/** Each corner holds until the next one, the last to the end. */
function stairs(corners: readonly PagePoint[], x: Scale, y: Scale, end: number): string {
  const steps = corners.map(({ latencyMs, itemsPerS }, place) => {
    const [across, up] = [x.at(latencyMs).toFixed(1), y.at(itemsPerS).toFixed(1)];
    return place === 0 ? `M${across} ${up}` : `H${across}V${up}`;
  });
  return `${steps.join('')}H${end}`;
}

function logarithmic(values: readonly number[], pixels: readonly [number, number]): Scale {
  const scale = linear(padded(values.map(Math.log), 0.08), pixels);
  return { at: (value) => scale.at(Math.log(value)), back: (pixel) => Math.exp(scale.back(pixel)) };
}

function axes(xs: readonly number[], ys: readonly number[], x: Scale, y: Scale, right: number): SVGElement[] {
  return [
    ...roundNumbers(xs).flatMap((value) => [
      svgLine('grid', [x.at(value), 12], [x.at(value), HEIGHT - BOTTOM]),
      axisText(String(value), [x.at(value), HEIGHT - BOTTOM + 16], 'middle'),
    ]),
    ...roundNumbers(ys).flatMap((value) => [
      svgLine('grid', [LEFT, y.at(value)], [right, y.at(value)]),
      axisText(String(value), [LEFT - 6, y.at(value) + 4], 'end'),
    ]),
    axisText('median latency, ms', [(LEFT + right) / 2, HEIGHT - 6], 'middle'),
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

function dot(point: PagePoint, dominator: PagePoint | null, kind: string, x: Scale, y: Scale): SVGElement {
  const { accuracy, key, label, latencyMs, itemsPerS } = point;
  const lines = [
    label,
    `${formatNumber(itemsPerS)} items/s`,
    `median latency ${formatMs(latencyMs)}`,
    ...(accuracy === 'notChecked' ? ['accuracy not checked'] : []),
    ...(dominator === null ? [] : ['dominated by another configuration', dominator.label]),
  ];
  const how = `${accuracy === 'notChecked' ? ' hollow' : ''}${dominator === null ? '' : ' dominated'}`;
  const circle = { class: `point ${kind}${how}`, cx: x.at(latencyMs), cy: y.at(itemsPerS), r: 6 };
  const link = svg('a', { href: `#cell=${key}`, 'aria-label': lines.join(', ') }, svg('circle', circle));
  link.addEventListener('pointermove', (event) => showTip(lines, event.clientX, event.clientY));
  link.addEventListener('pointerleave', hideTip);
  link.addEventListener('focus', () => {
    const box = link.getBoundingClientRect();
    showTip(lines, box.right, box.bottom);
  });
  link.addEventListener('blur', hideTip);
  return link;
}
