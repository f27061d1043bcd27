import { byId, element, picker } from './dom.ts';

/** What cells are chosen by: attributes of their rows. */
const FACETS = ['verdict', 'model', 'precision', 'batch', 'graph'];

interface Chip {
  readonly facet: string;
  readonly value: string;
  readonly count: HTMLElement;
  readonly button: HTMLButtonElement;
}

/** By words and by chips: any of the chosen ones of each facet. A chip has the number of rows that it would show. */
export function listenToFilter(): void {
  const [field, output] = [byId('filter'), byId('filter-count')];
  if (!(field instanceof HTMLInputElement) || output === null) return;
  const tables = tablesByMetric();
  const all = tables.flatMap((table) => table.rows);
  let rows = tables[0]?.rows ?? [];
  for (const table of tables) for (const [place, row] of table.rows.entries()) row.dataset['place'] = String(place);
  const texts = new Map(all.map((row) => [row, row.textContent.toLowerCase()]));
  const chips = FACETS.flatMap((facet) => chipsOf(facet, all));
  const apply = (): void => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const named = rows.filter((row) => words.every((word) => texts.get(row)?.includes(word) === true));
    const chosen = Map.groupBy(chips.filter(isPressed), ({ facet }) => facet);
    const passes = (row: HTMLElement, but: string | null): boolean =>
      [...chosen].every(([facet, own]) => facet === but || own.some(({ value }) => row.dataset[facet] === value));
    const shown = new Set(named.filter((row) => passes(row, null)));
    for (const row of rows) row.hidden = !shown.has(row);
    for (const { count, facet, value } of chips) {
      count.textContent = String(named.filter((row) => row.dataset[facet] === value && passes(row, facet)).length);
    }
    output.textContent = `${shown.size} of ${rows.length}`;
  };
  for (const { button } of chips) {
    button.addEventListener('click', () => {
      button.ariaPressed = String(button.ariaPressed !== 'true');
      apply();
    });
  }
  const groups = [...Map.groupBy(chips, ({ facet }) => facet)].map(([facet, own]) =>
    element('div', { role: 'group', 'aria-label': facet }, `${facet} `, ...own.map(({ button }) => button)),
  );
  const choose = (place: number): void => {
    const chosen = tables[place];
    if (chosen === undefined) return;
    rows = chosen.rows;
    document.querySelector('#cells-table tbody')?.replaceChildren(...rows);
    for (const head of document.querySelectorAll('#cells-table [aria-sort]')) head.removeAttribute('aria-sort');
    byId('cells-metric')?.replaceChildren(chosen.metric);
    apply();
  };
  const metrics = tables.map(({ metric }) => metric);
  field.form?.append(...(tables.length < 2 ? [] : [picker('Metric', metrics, 0, choose)]), ...groups);
  field.addEventListener('input', apply);
  field.form?.addEventListener('submit', (event) => event.preventDefault());
  apply();
}

/** The rows by each metric, which the page has in templates but for the first; the worst first in each. */
function tablesByMetric() {
  const templates = [...document.querySelectorAll<HTMLTemplateElement>('#cells template')];
  const shown = { metric: byId('cells-metric')?.textContent ?? '', body: document.querySelector('#cells-table tbody') };
  return [shown, ...templates.map(({ content, dataset }) => ({ metric: dataset['metric'] ?? '', body: content }))].map(
    ({ body, metric }) => ({ metric, rows: [...(body?.querySelectorAll('tr') ?? [])] }),
  );
}

function isPressed({ button }: Chip): boolean {
  return button.ariaPressed === 'true';
}

/** None where all rows have the same; verdicts in the order of the table, which is by weight. */
function chipsOf(facet: string, rows: readonly HTMLElement[]): Chip[] {
  const values = [...new Set(rows.map((row) => row.dataset[facet] ?? ''))].filter(Boolean);
  if (values.length < 2) return [];
  return (facet === 'verdict' ? values : values.toSorted(byText)).map((value) => {
    const count = element('small');
    const button = element('button', { type: 'button', class: 'chip', 'aria-pressed': 'false' }, `${value} `, count);
    return { facet, value, count, button };
  });
}

const NEXT: ReadonlyMap<string | null, string> = new Map([
  [null, 'descending'],
  ['descending', 'ascending'],
]);

/** A click on the head of a column sorts by it, the next one the other way round, the third as it was. */
export function listenToSorting(): void {
  const body = document.querySelector('#cells-table tbody');
  if (body === null) return;
  const heads = [...document.querySelectorAll('#cells-table thead th')];
  for (const [column, head] of heads.entries()) {
    const name = head.textContent;
    const sort = (): void => {
      const direction = NEXT.get(head.ariaSort) ?? null;
      for (const other of heads) other.removeAttribute('aria-sort');
      head.ariaSort = direction;
      const sign = direction === 'descending' ? -1 : 1;
      const keyed = [...body.querySelectorAll('tr')].map((row) => {
        const text = direction === null ? row.dataset['place'] : row.children[column]?.textContent;
        return { row, text: text ?? '' };
      });
      const sorted = keyed.toSorted((a, b) => sign * byText(a.text, b.text));
      body.append(...sorted.map(({ row }) => row));
    };
    const button = element('button', { type: 'button' }, name);
    button.addEventListener('click', sort);
    head.replaceChildren(button);
  }
}

function byText(a: string, b: string): number {
  const [one, other] = [Number.parseFloat(a), Number.parseFloat(b)];
  return Number.isNaN(one) || Number.isNaN(other) ? a.localeCompare(b, 'en', { numeric: true }) : one - other;
}
