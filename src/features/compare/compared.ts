import type { JudgedCell } from '../../judge/compare/compare-matrix.ts';
import type { Side } from '../../selection/sides.ts';
import type { ComparedCell, Comparison } from './output.ts';

export interface Compared {
  readonly output: Comparison;
  readonly details: ComparedDetails;
}

/** What the text shows and `--json` does not print. */
export interface ComparedDetails {
  readonly sides: { readonly base: Side; readonly head: Side };
  /** By the key of a cell. */
  readonly cells: ReadonlyMap<string, CellDetails>;
}

type CellDetails = Pick<JudgedCell, 'cell' | 'values'>;

export type ShownCell = ComparedCell & CellDetails;
