import { byId, element } from './dom.ts';

export function listenToFilter(): void {
  const [field, changed, output] = [byId('filter'), byId('only-changed'), byId('filter-count')];
  if (!(field instanceof HTMLInputElement) || !(changed instanceof HTMLInputElement)) return;
  const rows = [...document.querySelectorAll('#cells-table tbody tr')];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const apply = (): void => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const [place, row] of rows.entries()) {
      const isShown =
        words.every((word) => texts[place]?.includes(word) === true) &&
        (!changed.checked || row.getAttribute('data-changed') === 'yes');
      row.toggleAttribute('hidden', !isShown);
      if (isShown) shown += 1;
    }
    if (output !== null) output.textContent = `${shown} of ${rows.length}`;
  };
  field.addEventListener('input', apply);
  changed.addEventListener('change', apply);
  field.form?.addEventListener('submit', (event) => event.preventDefault());
  apply();
}

/** A click on the head of a column sorts by it, the next one the other way round. */
export function listenToSorting(): void {
  const body = document.querySelector('#cells-table tbody');
  if (body === null) return;
  const heads = [...document.querySelectorAll('#cells-table thead th')];
  for (const [column, head] of heads.entries()) {
    const name = head.textContent;
    const sort = (): void => {
      const direction = head.getAttribute('aria-sort') === 'descending' ? 'ascending' : 'descending';
      for (const other of heads) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', direction);
      const sign = direction === 'ascending' ? 1 : -1;
      const keyed = [...body.children].map((row) => ({ row, text: sortText(row.children[column]) }));
      body.append(...keyed.toSorted((a, b) => sign * byText(a.text, b.text)).map(({ row }) => row));
    };
    const button = element('button', { type: 'button' }, name);
    button.addEventListener('click', sort);
    head.replaceChildren(button);
  }
}

function sortText(cell: Element | undefined): string {
  return cell?.getAttribute('data-sort') ?? cell?.textContent ?? '';
}

function byText(a: string, b: string): number {
  const [one, other] = [Number.parseFloat(a), Number.parseFloat(b)];
  return Number.isNaN(one) || Number.isNaN(other) ? a.localeCompare(b, 'en', { numeric: true }) : one - other;
}
