import { formatPercent } from '../../terminal/numbers.ts';
import type { PageData } from '../page-types.ts';
import { sweepName, valuesOf } from './data.ts';
import { textTable } from './dom.ts';
import { levelNow } from './sweep-map.ts';

/** More columns are not read. */
const SHOWN = 30;

/** What the heat map draws, in percent, of the newest sweeps. */
export function mapTable(data: PageData): HTMLElement {
  const first = Math.max(0, data.sweeps.ids.length - SHOWN);
  const rows = data.cells.map((cell) => {
    const level = levelNow(cell);
    const values = valuesOf(cell)
      .slice(first)
      .map((found) => (found === null || level === null ? '–' : formatPercent((found.value / level - 1) * 100)));
    return [cell.label, ...values];
  });
  const names = data.sweeps.ids.slice(first).map((_, place) => sweepName(data, first + place));
  const caption = `From the level that the cell has now, newest ${names.length} sweeps, ${data.provenance}`;
  return textTable(caption, ['cell', ...names], rows, 1);
}
