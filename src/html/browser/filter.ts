import { byId } from './dom.ts';

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
