import { formatNumber } from '../../terminal/numbers.ts';
import { byId, element, svg } from './dom.ts';
import type { Scale } from './geometry.ts';

/** Edges of a plot, in pixels. */
export type Plot = Readonly<Record<'left' | 'right' | 'top' | 'bottom', number>>;

type Place = readonly [x: number, y: number];

/** A vertical or horizontal line. */
export function svgLine(name: string, [x1, y1]: Place, [x2, y2]: Place): SVGLineElement {
  return svg('line', { class: name, x1, x2, y1, y2 });
}

export function axisText(text: string, [x, y]: Place, anchor: 'start' | 'middle' | 'end' = 'start'): SVGTextElement {
  return svg('text', { class: 'axis', x, y, 'text-anchor': anchor }, text);
}

/** Horizontal grid lines with their numbers. */
export function levels(values: readonly number[], y: Scale, { left, right }: Plot): SVGElement[] {
  return values.flatMap((value) => [
    svgLine('grid', [left, y.at(value)], [right, y.at(value)]),
    axisText(formatNumber(value), [left - 6, y.at(value) + 5], 'end'),
  ]);
}

/**
 * @param kind role and label for screen readers: `img`, or `group` if it contains controls; null if the element around
 * it has them
 */
export function picture(
  name: string,
  [width, height]: Place,
  kind: readonly ['img' | 'group', string] | null,
  ...parts: readonly SVGElement[]
): SVGSVGElement {
  const said = kind === null ? { 'aria-hidden': 'true' } : { role: kind[0], 'aria-label': kind[1] };
  return svg('svg', { class: name, width, height, viewBox: `0 0 ${width} ${height}`, ...said }, ...parts);
}

const LEAST_WIDTH = 280;

/** Draws at the width of the page, and again when the width changes. */
export function sized<Stage extends HTMLElement>(stage: Stage, draw: (width: number) => Element): Stage {
  new ResizeObserver(() => stage.replaceChildren(draw(Math.max(LEAST_WIDTH, stage.clientWidth)))).observe(stage);
  return stage;
}

const MARGIN = 14;

/** Shows lines next to a place in the window. */
export function showTip(lines: readonly string[], x: number, y: number): void {
  const tip = byId('tip');
  if (tip === null) return;
  tip.replaceChildren(...lines.map((line) => element('div', {}, line)));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  tip.style.left = `${Math.max(2, Math.min(x + MARGIN, clientWidth - width - 2))}px`;
  tip.style.top = `${Math.max(2, y + MARGIN + height > clientHeight ? y - MARGIN - height : y + MARGIN)}px`;
}

export function hideTip(): void {
  const tip = byId('tip');
  if (tip !== null) tip.hidden = true;
}

/** A part of a chart that shows lines under the pointer, and when it has the focus. */
export function withTip<Part extends SVGElement>(part: Part, lines: readonly string[]): Part {
  part.addEventListener('pointermove', ({ clientX, clientY }) => showTip(lines, clientX, clientY));
  part.addEventListener('focus', () => {
    const { right, bottom } = part.getBoundingClientRect();
    showTip(lines, right, bottom);
  });
  for (const end of ['pointerleave', 'blur']) part.addEventListener(end, hideTip);
  return part;
}
