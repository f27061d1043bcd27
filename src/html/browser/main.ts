import type { PageCell, PageData } from '../page-types.ts';
import { readPageData } from './data.ts';
import { byId, element, note, picker, showAsTable } from './dom.ts';
import { listenToFilter, listenToSorting } from './filter.ts';
import { drawFirstChart } from './first-chart.ts';
import { layersView } from './layers-view.ts';
import { watchStore } from './live.ts';
import { mapTable } from './map-table.ts';
import { SweepMap } from './sweep-map.ts';
import { paretoChart } from './pareto-chart.ts';
import { type Place, placeHash, readPlace } from './place.ts';
import { samplesView } from './samples-view.ts';
import { hideTip } from './tip.ts';
import { TrendChart } from './trend-chart.ts';

const data = worstFirst(readPageData());
const LEAST_MAP_SWEEPS = 2;
let shown: string | null = null;

document.documentElement.classList.add('scripted');

/** In the order of the table, which has the worst cell first. */
function worstFirst(report: PageData): PageData {
  const rows = [...document.querySelectorAll('#cells-table tbody tr')];
  const places = new Map(rows.map((row, place) => [row.getAttribute('data-key'), place]));
  const placeOf = ({ key }: PageCell): number => places.get(key) ?? rows.length;
  return { ...report, cells: report.cells.toSorted((a, b) => placeOf(a) - placeOf(b)) };
}

function cellOf({ cell }: Place): PageCell | undefined {
  return cell === null ? undefined : data.cells.find(({ key }) => key.startsWith(cell));
}

function showCell(place: Place, isRequested: boolean): void {
  const view = byId('cell-view');
  if (view === null) return;
  const requestedCell = cellOf(place);
  const cell = requestedCell ?? data.cells[0];
  if (place.cell !== null && requestedCell === undefined) {
    shown = null;
    view.replaceChildren(note(`No cell ${place.cell} is in this report; the table has all that are.`));
  } else if (cell !== undefined && hashOf(cell, place) !== shown) {
    shown = hashOf(cell, place);
    view.replaceChildren(...cellNodes(cell, place));
  }
  if (isRequested && place.cell !== null) byId('cell')?.scrollIntoView();
}

function hashOf(cell: PageCell, { from, to }: Place): string {
  return placeHash({ cell: cell.key, from, to });
}

function cellNodes(cell: PageCell, place: Place): HTMLElement[] {
  const zoomed = (from: number, to: number): void => {
    const hash = placeHash({ cell: cell.key, from, to });
    shown = hash;
    history.replaceState(null, '', hash);
  };
  const choose = (index: number): void => {
    const chosen = data.cells[index];
    if (chosen !== undefined) openCell(chosen);
  };
  const names = data.cells.map(({ label }) => label.slice(0, 100));
  return [
    picker('Cell', names, data.cells.indexOf(cell), choose),
    element('h3', { class: 'label' }, cell.label),
    element(
      'p',
      { class: 'facts' },
      `${cell.metric}, ${cell.unit} · ${data.provenance} · cell `,
      element('code', {}, cell.key.slice(0, 8)),
    ),
    new TrendChart(data, cell, zoomed, place).node,
    samplesView(data, cell),
    layersView(data, cell),
  ];
}

function follow(isRequested: boolean): void {
  showCell(readPlace(location.hash), isRequested);
}

function openCell({ key }: PageCell): void {
  location.hash = `cell=${key}`;
}

const map = byId('sweep-map');
if (map !== null) {
  map.append(
    ...(data.sweeps.ids.length < LEAST_MAP_SWEEPS
      ? [note('There is only one sweep so far.')]
      : [new SweepMap(data, openCell).node, showAsTable(() => [mapTable(data)])]),
  );
}
drawFirstChart(data);
byId('pareto-chart')?.append(paretoChart(data));
listenToFilter();
listenToSorting();
window.addEventListener('scroll', hideTip, { passive: true });
window.addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') hideTip();
});
window.addEventListener('hashchange', () => follow(true));
follow(readPlace(location.hash).cell !== null);
watchStore(document.body.dataset['live'] ?? '');
