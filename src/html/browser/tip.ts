import { byId, element } from './dom.ts';

const MARGIN = 14;

/**
 * Lines next to the pointer, or next to a place on the page.
 * @param floor where they go if neither side of `x` has room: below what they explain
 */
export function showTip(lines: readonly string[], x: number, y: number, floor = y): void {
  const tip = byId('tip');
  if (tip === null) return;
  tip.replaceChildren(...lines.map((line) => element('div', {}, line)));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const after = x + MARGIN;
  const before = x - MARGIN - width;
  const hasRoom = after + width <= clientWidth || before >= 0;
  const from = hasRoom ? y : floor;
  const left = hasRoom ? (after + width <= clientWidth ? after : before) : clientWidth - width - 2;
  const top = from + MARGIN + height > clientHeight ? y - MARGIN - height : from + MARGIN;
  tip.style.left = `${Math.max(2, left)}px`;
  tip.style.top = `${Math.max(2, top)}px`;
}

export function hideTip(): void {
  const tip = byId('tip');
  if (tip !== null) tip.hidden = true;
}

/** For screen readers. */
export function say(lines: readonly string[]): void {
  const status = byId('said');
  if (status !== null) status.textContent = lines.join(', ');
}
