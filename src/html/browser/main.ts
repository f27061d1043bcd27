import type { PageCell, PageData } from '../page-data.ts';
import { hideTip } from './chart.ts';
import { button, byId, element } from './dom.ts';
import { cellInHash } from './geometry.ts';
import { layersView } from './layers-view.ts';
import { paretoChart } from './pareto-chart.ts';
import { samplesView } from './samples-view.ts';
import { trendChart } from './trend.ts';

const tableBody = document.querySelector('#cells-table tbody');
const rows = [...document.querySelectorAll<HTMLElement>('#cells-table tbody > tr')];
const data: PageData = JSON.parse(byId('data')?.textContent ?? '');
/** The row of the opened cell, and the row below it. */
let opened: HTMLElement | undefined;
const below = element('tr', { class: 'opened' });

document.documentElement.classList.add('scripted');

/** Opens the cell in the address below its row, or closes the open one. */
function follow(): void {
  if (!location.hash.startsWith('#cell')) return;
  const named = cellInHash(location.hash);
  const cell = data.cells.find(({ key }) => named !== null && key.startsWith(named));
  below.remove();
  opened = rows.find(({ dataset }) => cell !== undefined && dataset['key'] === cell.key);
  if (cell === undefined || opened === undefined) return;
  const section = element('section', { id: 'cell', 'aria-label': 'One cell' }, ...cellNodes(cell));
  below.replaceChildren(element('td', { colspan: opened.children.length }, section));
  opened.hidden = false;
  keepOpened();
  opened.scrollIntoView();
}

/** Keeps the opened cell below its row after sorting or filtering. */
function keepOpened(): void {
  below.hidden = opened?.hidden === true;
  opened?.after(below);
}

function cellNodes(cell: PageCell): HTMLElement[] {
  const facts = `${cell.metric}, ${cell.unit} · ${data.provenance} · cell `;
  return [
    element('a', { class: 'close', href: '#cells' }, 'Close'),
    element('h3', { class: 'label' }, cell.label),
    element('p', { class: 'facts' }, facts, element('code', {}, cell.key.slice(0, 8))),
    trendChart(data, cell),
    ...samplesView(data, cell),
    ...layersView(data, cell),
  ];
}

function showFirstChart(): void {
  const figure = document.querySelector<HTMLElement>('.first-chart');
  const cell = data.cells.find(({ key }) => key === figure?.dataset['cell']);
  if (cell !== undefined) figure?.append(trendChart(data, cell));
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

showFirstChart();
showCommands();
byId('pareto-chart')?.append(...paretoChart(data));
listenToFilter();
listenToSorting();
window.addEventListener('scroll', hideTip, { passive: true });
window.addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') hideTip();
});
window.addEventListener('hashchange', follow);
follow();

/** Hides rows that lack one of the words. */
function listenToFilter(): void {
  const [field, output] = [byId('filter'), byId('filter-count')];
  if (!(field instanceof HTMLInputElement) || output === null) return;
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const apply = (): void => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const [place, row] of rows.entries()) row.hidden = !words.every((word) => texts[place]?.includes(word));
    output.textContent = `${rows.filter(({ hidden }) => !hidden).length} of ${rows.length}`;
    keepOpened();
  };
  field.addEventListener('input', apply);
  field.form?.addEventListener('submit', (event) => event.preventDefault());
  apply();
}

/** The first click on a column head sorts by it, largest first; the second reverses the order. */
function listenToSorting(): void {
  const heads = [...document.querySelectorAll('#cells-table thead th')];
  for (const [column, head] of heads.entries()) {
    const sort = (): void => {
      const direction = head.ariaSort === 'descending' ? 'ascending' : 'descending';
      for (const other of heads) other.removeAttribute('aria-sort');
      head.ariaSort = direction;
      const sign = direction === 'descending' ? -1 : 1;
      tableBody?.append(...rows.toSorted((a, b) => sign * byText(a.children[column], b.children[column])));
      keepOpened();
    };
    head.replaceChildren(button(head.textContent, null, sort));
  }
}

function byText(left: Element | undefined, right: Element | undefined): number {
  const [a, b] = [left?.textContent ?? '', right?.textContent ?? ''];
  const [one, other] = [Number.parseFloat(a), Number.parseFloat(b)];
  return Number.isNaN(one) || Number.isNaN(other) ? a.localeCompare(b, 'en', { numeric: true }) : one - other;
}
