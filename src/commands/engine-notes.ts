import { cellLabel } from '../domain/cell-label.ts';
import { printable } from '../domain/printable.ts';
import { count } from '../report/numbers.ts';
import { findCells } from '../store/cells.ts';
import { loadedEngines } from '../store/loaded-engines.ts';
import type { StoreDatabase } from '../store/open.ts';

const MOST_NAMED = 3;

/** One line for each cell of an imported sweep whose runs loaded different engine files. */
export function engineNotes(db: StoreDatabase, sweepId: string): string[] {
  const byCell = Map.groupBy(loadedEngines(db, [sweepId]), ({ cellKey }) => cellKey);
  const mixed = [...byCell].flatMap(([cellKey, runs]) => {
    const paths = [...new Set(runs.map(({ path }) => path))].toSorted();
    const cell = paths.length < 2 ? undefined : findCells(db, [cellKey]).get(cellKey);
    return cell === undefined ? [] : [{ cell, paths }];
  });
  return mixed.map(({ cell, paths }) => {
    const named = paths.slice(0, MOST_NAMED).map(printable).join(', ');
    const more = paths.length > MOST_NAMED ? ', …' : '';
    return `${count(paths.length, 'engine')} in one cell of sweep ${sweepId.slice(0, 8)}, ${cellLabel(cell)}: ${named}${more}; its median is of none of them: import each with a --sweep or --model of its own`;
  });
}
