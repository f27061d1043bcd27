import type { SweepId } from '../records/scalars.ts';
import { cellLabel } from '../records/cell-label.ts';
import { loadedEngines } from '../store/builds/builds.ts';
import { findCells } from '../store/cells.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { count } from '../terminal/numbers.ts';
import { printable } from '../text/printable.ts';

const MOST_NAMED = 3;

/** A note for each cell of a sweep whose imported runs loaded different engine files. */
export function engineNotes(db: StoreDatabase, sweepId: SweepId): string[] {
  const byCell = Map.groupBy(loadedEngines(db, [sweepId]), ({ cellKey }) => cellKey);
  const cells = findCells(db, [...byCell.keys()]);
  return [...byCell].flatMap(([cellKey, runs]) => {
    const paths = [...new Set(runs.map(({ path }) => path))].toSorted();
    const cell = cells.get(cellKey);
    if (cell === undefined || paths.length < 2) return [];
    const named = paths.slice(0, MOST_NAMED).map(printable).join(', ');
    const more = paths.length > MOST_NAMED ? ', …' : '';
    return [
      `${count(paths.length, 'engine')} in one cell of sweep ${sweepId.slice(0, 8)}, ${cellLabel(cell)}: ${named}${more}; the median mixes them: import each with a --sweep or --model of its own`,
    ];
  });
}
