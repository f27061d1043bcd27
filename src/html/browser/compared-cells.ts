import type { PageCell, PageData } from '../page-types.ts';
import { element, picker, svg, svgLine } from './dom.ts';

const MOST_OTHERS = 3;

/** Each choice is one more cell next to `cell`; the first choice takes all out. Nothing where there is no other. */
export function comparePicker(
  data: PageData,
  cell: PageCell,
  compare: (others: readonly PageCell[]) => void,
): HTMLElement[] {
  const cells = data.cells.filter((one) => one !== cell);
  if (cells.length === 0) return [];
  const names = ['none', ...cells.map(({ label }) => label.slice(0, 100))];
  let others: readonly PageCell[] = [];
  const choose = (place: number): void => {
    const chosen = cells[place - 1];
    const kept = others.filter((one) => one !== chosen);
    others = chosen === undefined ? [] : [...kept, chosen].slice(-MOST_OTHERS);
    compare(others);
  };
  return [picker('Compare with', names, 0, choose)];
}

/** Which line is which cell. */
export function lineKey(cells: readonly PageCell[]): Node[] {
  return cells.flatMap(({ label }, place) => [
    svg(
      'svg',
      { class: 'sample', width: 36, height: 8, 'aria-hidden': 'true' },
      svgLine(place === 0 ? 'line' : `line other-${place - 1}`, [0, 4], [36, 4]),
    ),
    element('span', {}, ` ${label} `),
  ]);
}
