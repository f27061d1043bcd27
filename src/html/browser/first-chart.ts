import type { PageData } from '../page-types.ts';
import { drawTrend } from './trend-drawing.ts';

const HEIGHT = 280;
/** More sweeps than this would hide the newest ones; the cell's own chart has all. */
const SWEEPS = 90;

/** The chart of the first screen: no controls, and a link to the cell's own chart. */
export function drawFirstChart(data: PageData): void {
  const figure = document.querySelector<HTMLElement>('.first-chart');
  const cell = data.cells.find(({ key }) => key === figure?.dataset['cell']);
  const place = figure?.querySelector('div');
  if (cell === undefined || place === null || place === undefined) return;
  place.setAttribute('role', 'img');
  place.setAttribute('aria-label', `${cell.metric} of ${cell.label} by sweep`);
  const to = Math.max(0, data.sweeps.ids.length - 1);
  const from = Math.max(0, to - SWEEPS + 1);
  new ResizeObserver(() => {
    const width = Math.max(280, place.clientWidth);
    place.replaceChildren(drawTrend(data, cell, { width, height: HEIGHT, from, to }).picture);
  }).observe(place);
}
