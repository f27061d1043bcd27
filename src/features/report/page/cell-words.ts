import type { KeyedCell } from '../../../records/cell.ts';
import { cellColumns } from '../../../terminal/cell-columns.ts';

/** The four columns that say which cell a row is about, in each row the texts of them. */
export interface CellWords {
  readonly headers: readonly string[];
  /** What all cells share; null when there is nothing. */
  readonly caption: string | null;
  readonly wordsOf: (cell: KeyedCell) => readonly string[];
}

/** As in every table of the terminal: what all cells share is said once. */
export function cellWords(cells: readonly KeyedCell[]): CellWords {
  const { columns: all, caption } = cellColumns(cells, (cell) => cell);
  // The page has the key of each cell anyway.
  const columns = all.filter(({ onlyIfAlike }) => onlyIfAlike !== true);
  return {
    headers: columns.map(({ header }) => header),
    caption,
    wordsOf: (cell) => columns.map(({ text }) => text(cell)),
  };
}
