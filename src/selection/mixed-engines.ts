import type { KeyedCell } from '../records/cell.ts';
import { cellLabel } from '../text/cell-label.ts';
import { printable } from '../text/printable.ts';
import { count } from '../terminal/numbers.ts';
import { findCells } from '../store/cells.ts';
import { loadedEngines } from '../store/builds/loaded-engines.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import type { SweepId } from '../records/scalars.ts';

const MOST_NAMED = 3;

export interface MixedEngines {
  readonly sweepId: SweepId;
  readonly cell: KeyedCell;
  /** Engine files from the command lines. */
  readonly paths: readonly string[];
}

export function mixedEngines(db: StoreDatabase, sweepIds: readonly SweepId[]): MixedEngines[] {
  const loaded = loadedEngines(db, sweepIds);
  const cells = findCells(db, [...new Set(loaded.map(({ cellKey }) => cellKey))]);
  const groups = Map.groupBy(loaded, ({ sweepId, cellKey }) => `${sweepId} ${cellKey}`);
  return [...groups.values()].flatMap((runs) => {
    const paths = [...new Set(runs.map(({ path }) => path))].toSorted();
    const [first] = runs;
    const cell = first === undefined ? undefined : cells.get(first.cellKey);
    return first === undefined || cell === undefined || paths.length < 2
      ? []
      : [{ sweepId: first.sweepId, cell, paths }];
  });
}

export function engineNotes(db: StoreDatabase, sweepId: SweepId): string[] {
  return mixedEngines(db, [sweepId]).map(engineNote);
}

export function engineNote({ sweepId, cell, paths }: MixedEngines): string {
  const named = paths.slice(0, MOST_NAMED).map(printable).join(', ');
  const more = paths.length > MOST_NAMED ? ', …' : '';
  return `${count(paths.length, 'engine')} in one cell of sweep ${sweepId.slice(0, 8)}, ${cellLabel(cell)}: ${named}${more}; the median mixes them: import each with a --sweep or --model of its own`;
}
