import type { PageCell, PageData } from '../page-data.ts';
import { listenToFilter } from './cells-table.ts';
import { hideTip } from './chart.ts';
import { button, byId, element, note } from './dom.ts';
import { layersView } from './layers-view.ts';
import { paretoChart } from './pareto-chart.ts';
import { type Place, placeHash, readPlace } from './geometry.ts';
import { samplesView } from './samples-view.ts';
import { drawFirstChart, trendChart } from './trend.ts';

const body = document.querySelector('#cells-table > tbody');
const data: PageData = JSON.parse(byId('data')?.textContent ?? '');
/** The row below the opened cell's row. */
const opened = element('tr', { class: 'opened' });
let shown: Place | null = null;

document.documentElement.classList.add('scripted');

/** Opens the cell in the address below its row, or closes the open one. */
function follow(): void {
  const place = readPlace(location.hash);
  if (!location.hash.startsWith('#cell')) return;
  if (place.cell === null) {
    shown = null;
    opened.remove();
    return;
  }
  const named = place.cell;
  const cell = data.cells.find(({ key }) => key.startsWith(named));
  const next = { ...place, cell: cell?.key ?? named };
  if (shown === null || placeHash(next) !== placeHash(shown)) {
    shown = next;
    const missing = note(`No cell ${named} is in this report; the table has all that are.`);
    const parts = cell === undefined ? [missing] : cellNodes(cell, place);
    const section = element('section', { id: 'cell', 'aria-label': 'One cell' }, ...parts);
    opened.replaceChildren(
      element('td', { colspan: document.querySelectorAll('#cells-table > thead th').length }, section),
    );
  }
  const row = rowOf(next);
  if (row !== null) row.hidden = false;
  keepOpened();
  (row ?? opened).scrollIntoView();
}

function rowOf({ cell }: Place): HTMLElement | null {
  return document.querySelector<HTMLElement>(`#cells-table > tbody > tr[data-key="${cell ?? ''}"]`);
}

/** Keeps the opened cell next to its row after sorting or filtering. */
function keepOpened(): void {
  if (shown === null) return;
  const row = rowOf(shown);
  opened.hidden = row?.hidden === true;
  if (row === null) body?.prepend(opened);
  else if (row.nextElementSibling !== opened) row.after(opened);
}

function cellNodes(cell: PageCell, place: Place): HTMLElement[] {
  const zoomed = (from: number, to: number): void => {
    shown = { cell: cell.key, from, to };
    history.replaceState(null, '', placeHash(shown));
  };
  const facts = `${cell.metric}, ${cell.unit} · ${data.provenance} · cell `;
  return [
    element('a', { class: 'close', href: '#cells' }, 'Close'),
    element('h3', { class: 'label' }, cell.label),
    element('p', { class: 'facts' }, facts, element('code', {}, cell.key.slice(0, 8))),
    trendChart(data, cell, place, zoomed),
    ...samplesView(data, cell),
    ...layersView(data, cell),
  ];
}

/** Folds the commands on a narrow page, and adds copy buttons. */
function showCommands(): void {
  document.querySelector('details.commands')?.toggleAttribute('open', matchMedia('(width >= 760px)').matches);
  for (const code of document.querySelectorAll('.commands code')) {
    const copy = (): void => {
      // If the browser forbids copying, select the text.
      getSelection()?.selectAllChildren(code);
      void navigator.clipboard.writeText(code.textContent).then(() => made.replaceChildren('Copied'));
    };
    const made = button('Copy', `Copy ${code.textContent}`, copy);
    code.after(made);
  }
}

const EVERY_MS = 15_000;

/** A served report announces new data in the store but does not reload by itself. */
function watchStore(version: string): void {
  if (version === '') return;
  const ask = async (): Promise<void> => {
    const newest = await versionNow();
    if (newest === null || newest === version) {
      setTimeout(() => void ask(), EVERY_MS);
      return;
    }
    const reload = button('The store has something new: show it', null, () => location.reload());
    byId('said')?.after(element('div', { class: 'news', role: 'status' }, reload));
  };
  setTimeout(() => void ask(), EVERY_MS);
}

async function versionNow(): Promise<string | null> {
  try {
    const answer = await fetch('/version', { cache: 'no-store' });
    return answer.ok ? (await answer.text()).trim() : null;
  } catch {
    return null;
  }
}

drawFirstChart(data);
showCommands();
byId('pareto-chart')?.append(...paretoChart(data));
listenToFilter(keepOpened);
window.addEventListener('scroll', hideTip, { passive: true });
window.addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') hideTip();
});
window.addEventListener('hashchange', follow);
if (readPlace(location.hash).cell !== null) follow();
watchStore(document.body.dataset['live'] ?? '');
