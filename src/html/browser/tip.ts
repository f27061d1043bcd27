import { byId, element } from './dom.ts';

const MARGIN = 14;

/** Lines next to the pointer, or next to a place on the page. */
export function showTip(lines: readonly string[], x: number, y: number): void {
  const tip = byId('tip');
  if (tip === null) return;
  tip.replaceChildren(...lines.map((line) => element('div', {}, line)));
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const left = x + MARGIN + width > clientWidth ? x - MARGIN - width : x + MARGIN;
  const top = y + MARGIN + height > clientHeight ? y - MARGIN - height : y + MARGIN;
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
