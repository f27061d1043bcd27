import { formatPercent } from '../../terminal/numbers.ts';
import type { PageData } from '../page-types.ts';
import { sweepName } from './data.ts';
import { textTable } from './dom.ts';
import { percentOf } from './sweep-map.ts';

/** More columns are not read. */
const SHOWN = 30;

/** What the heat map draws, in percent, the newest sweep first. */
export function mapTable(data: PageData): HTMLElement {
  const sweeps = [...data.sweeps.ids.keys()].slice(-SHOWN).toReversed();
  const rows = data.cells.map((cell) => {
    const percents = sweeps.map((sweep) => percentOf(cell, sweep));
    return [cell.name, ...percents.map((percent) => (percent === null ? '–' : formatPercent(percent)))];
  });
  const caption = `From the level before the open change, else the level now; newest ${sweeps.length} sweeps, ${data.provenance}`;
  return textTable(caption, ['cell', ...sweeps.map((sweep) => sweepName(data, sweep))], rows, 1);
}
