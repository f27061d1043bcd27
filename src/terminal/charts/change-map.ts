import type { Cell } from '../../records/cell.ts';
import type { Verdict } from '../../records/verdict.ts';
import { heatMaps, shadeOf } from './heat-map.ts';
import type { Look } from '../look.ts';
import { formatPercent } from '../numbers.ts';
import { wrapWords } from '../text-width.ts';
import { VERDICT_SIGNS, verdictStyle } from '../verdict-words.ts';

interface ChangedCell {
  readonly cell: Cell;
  readonly verdict: Verdict;
  readonly changePercent: number | null;
}

/** Changes of this size and more are the darkest. */
const DARKEST_PERCENT = 20;

/** The changes of all cells by precision and batch: sign and number tell the verdict, the shade its size. */
export function changeMap(cells: readonly ChangedCell[], look: Look): string[] {
  const tiles = cells.map(({ cell, verdict, changePercent }) => ({
    cell,
    sign: `${VERDICT_SIGNS[verdict]}${isChange(verdict) ? shadeOf(Math.abs(changePercent ?? 0) / DARKEST_PERCENT) : ' '}`,
    number: formatPercent(changePercent),
    style: verdictStyle(verdict, look.style),
  }));
  const seen = [...new Set(cells.map(({ verdict }) => verdict))];
  const legend = seen.map((verdict) => `${VERDICT_SIGNS[verdict]} ${verdict}`);
  if (seen.some(isChange)) legend.push('by less than ░ 5 %, ▒ 10 %, ▓ 15 %, █ more');
  return [...heatMaps(tiles, look), ...wrapWords(legend.join(', '), look.columns).map(look.style.dim)];
}

function isChange(verdict: Verdict): boolean {
  return verdict === 'slower' || verdict === 'faster';
}
