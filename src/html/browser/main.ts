import type { PageCell, PageData } from '../page-data.ts';
import { hideTip } from './chart.ts';
import { button, byId, element, note } from './dom.ts';
import { type Place, placeHash, readPlace } from './geometry.ts';
import { layersView } from './layers-view.ts';
import { paretoChart } from './pareto-chart.ts';
import { samplesView } from './samples-view.ts';
import { drawFirstChart, trendChart } from './trend.ts';

const tableBody = document.querySelector('#cells-table > tbody');
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
  if (row === null) tableBody?.prepend(opened);
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
    const reload = button('The store has new results: show them', null, () => location.reload());
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

function rowsIn(body: ParentNode | null): HTMLElement[] {
  return [...(body?.querySelectorAll<HTMLElement>(':scope > tr[data-key]') ?? [])];
}

function bodyOfCells(): HTMLElement | null {
  return document.querySelector('#cells-table > tbody');
}

/** Hides rows that lack one of the words. @param changed called when the visible rows or their order change */
function listenToFilter(changed: () => void): void {
  const [field, output] = [byId('filter'), byId('filter-count')];
  if (!(field instanceof HTMLInputElement) || output === null) return;
  const rows = rowsIn(bodyOfCells());
  for (const [place, row] of rows.entries()) row.dataset['place'] = String(place);
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const apply = (): void => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) row.hidden = !words.every((word) => texts.get(row)?.includes(word) === true);
    output.textContent = `${rows.filter(({ hidden }) => !hidden).length} of ${rows.length}`;
    changed();
  };
  field.addEventListener('input', apply);
  field.form?.addEventListener('submit', (event) => event.preventDefault());
  apply();
  listenToSorting(changed);
}

const NEXT: ReadonlyMap<string | null, string> = new Map([
  [null, 'descending'],
  ['descending', 'ascending'],
]);

/**
 * The first click on a column head sorts by it, the second reverses the order, and the third restores the original
 * order.
 */
function listenToSorting(changed: () => void): void {
  const heads = [...document.querySelectorAll('#cells-table > thead th')];
  for (const [column, head] of heads.entries()) {
    const sort = (): void => {
      const direction = NEXT.get(head.ariaSort) ?? null;
      for (const other of heads) other.removeAttribute('aria-sort');
      head.ariaSort = direction;
      const sign = direction === 'descending' ? -1 : 1;
      const textOf = (row: HTMLElement): string =>
        (direction === null ? row.dataset['place'] : row.children[column]?.textContent) ?? '';
      const body = bodyOfCells();
      body?.append(...rowsIn(body).toSorted((a, b) => sign * byText(textOf(a), textOf(b))));
      changed();
    };
    head.replaceChildren(button(head.textContent, null, sort));
  }
}

function byText(a: string, b: string): number {
  const [one, other] = [Number.parseFloat(a), Number.parseFloat(b)];
  return Number.isNaN(one) || Number.isNaN(other) ? a.localeCompare(b, 'en', { numeric: true }) : one - other;
}
