import { formatPercent } from '../../terminal/numbers.ts';
import type { PageData } from '../page-types.ts';
import { sweepName } from './data.ts';
import { textTable } from './dom.ts';
import { percentOf } from './sweep-map.ts';

/** More columns are not read. */
const SHOWN = 30;

/** What the heat map draws, in percent, of the newest sweeps. */
export function mapTable(data: PageData): HTMLElement {
  const first = Math.max(0, data.sweeps.ids.length - SHOWN);
  const names = data.sweeps.ids.slice(first).map((_, place) => sweepName(data, first + place));
  const rows = data.cells.map((cell) => {
    const percents = names.map((_, place) => percentOf(cell, first + place));
    return [cell.label, ...percents.map((percent) => (percent === null ? '–' : formatPercent(percent)))];
  });
  const caption = `From the level before the open change, else the level now; newest ${names.length} sweeps, ${data.provenance}`;
  return textTable(caption, ['cell', ...names], rows, 1);
}
