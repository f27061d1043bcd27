import { button, byId, element } from './dom.ts';

/** What cells are chosen by: attributes of their rows. */
const FACETS = ['verdict', 'model', 'precision', 'batch', 'graph'];

interface Chip {
  readonly facet: string;
  readonly value: string;
  readonly count: HTMLElement;
  readonly button: HTMLButtonElement;
}

function rowsIn(body: ParentNode | null): HTMLElement[] {
  return [...(body?.querySelectorAll<HTMLElement>(':scope > tr[data-key]') ?? [])];
}

function bodyOfCells(): HTMLElement | null {
  return document.querySelector('#cells-table > tbody');
}

/**
 * By words and by chips: any of the chosen ones of each facet. A chip has the number of rows that it would show.
 * @param changed the rows are others, or in another order
 */
export function listenToFilter(changed: () => void): void {
  const [field, output] = [byId('filter'), byId('filter-count')];
  if (!(field instanceof HTMLInputElement) || output === null) return;
  const rows = rowsIn(bodyOfCells());
  for (const [place, row] of rows.entries()) row.dataset['place'] = String(place);
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const apply = (): void => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const named = rows.filter((row) => words.every((word) => texts.get(row)?.includes(word) === true));
    const pressed = chips.filter((chip) => chip.button.ariaPressed === 'true');
    const chosen = Map.groupBy(pressed, ({ facet }) => facet);
    const passes = (row: HTMLElement, but: string | null): boolean =>
      [...chosen].every(([facet, own]) => facet === but || own.some(({ value }) => row.dataset[facet] === value));
    const shown = new Set(named.filter((row) => passes(row, null)));
    for (const row of rows) row.hidden = !shown.has(row);
    for (const { count, facet, value } of chips) {
      count.textContent = String(named.filter((row) => row.dataset[facet] === value && passes(row, facet)).length);
    }
    output.textContent = `${shown.size} of ${rows.length}`;
    changed();
  };
  const chips = FACETS.flatMap((facet) => chipsOf(facet, rows, apply));
  const groups = [...Map.groupBy(chips, ({ facet }) => facet)].map(([facet, own]) =>
    element('div', { role: 'group', 'aria-label': facet }, `${facet} `, ...own.map((chip) => chip.button)),
  );
  field.form?.append(...groups);
  field.addEventListener('input', apply);
  field.form?.addEventListener('submit', (event) => event.preventDefault());
  apply();
  listenToSorting(changed);
}

/** None where all rows have the same; verdicts in the order of the table, which is by weight. */
function chipsOf(facet: string, rows: readonly HTMLElement[], apply: () => void): Chip[] {
  const values = [...new Set(rows.map((row) => row.dataset[facet] ?? ''))].filter(Boolean);
  if (values.length < 2) return [];
  return (facet === 'verdict' ? values : values.toSorted(byText)).map((value) => {
    const count = element('small');
    const toggle = (): void => {
      chip.ariaPressed = String(chip.ariaPressed !== 'true');
      apply();
    };
    const chip = button(`${value} `, null, toggle, { class: 'chip', 'aria-pressed': 'false' });
    chip.append(count);
    return { facet, value, count, button: chip };
  });
}

const NEXT: ReadonlyMap<string | null, string> = new Map([
  [null, 'descending'],
  ['descending', 'ascending'],
]);

/** A click on the head of a column sorts by it, the next one the other way round, the third as it was. */
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
