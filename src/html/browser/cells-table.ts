import { button, byId } from './dom.ts';

function rowsIn(body: ParentNode | null): HTMLElement[] {
  return [...(body?.querySelectorAll<HTMLElement>(':scope > tr[data-key]') ?? [])];
}

function bodyOfCells(): HTMLElement | null {
  return document.querySelector('#cells-table > tbody');
}

/** Hides rows that lack one of the words. @param changed called when the visible rows or their order change */
export function listenToFilter(changed: () => void): void {
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
