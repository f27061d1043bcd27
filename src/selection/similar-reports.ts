import { cellOf } from '../artefacts/read/identify.ts';
import type { ReadRun } from '../artefacts/read/read-run.ts';
import type { KeyedCell, Shapes } from '../records/cell.ts';
import { printable } from '../text/printable.ts';
import type { StatedCell } from '../trtexec/cell-of-run.ts';

/** What one of two files is told, because only the other says it. */
export interface Borrowed {
  readonly stated: StatedCell;
  /** In a line, for whoever reads the comparison. */
  readonly note: string;
}

/**
 * Reports that lie alone say little of their cells. Of two that are compared, one is taken to be of the precision and the
 * shapes that the other states; null where there is nothing to take over.
 */
export function borrowedFor(
  name: string,
  runs: readonly ReadRun[],
  otherName: string,
  others: readonly ReadRun[],
): Borrowed | null {
  if (![...runs, ...others].every(({ manifest }) => manifest.lone?.kind === 'report')) return null;
  const [own, other] = [runs.map(cellOf), others.map(cellOf)];
  const precision = own.every(isUnstated) ? only(other.map((cell) => cell.precision)) : null;
  const isTold = precision !== null && precision !== 'unstated';
  const shapes = own.every(hasNoShapes) ? onlyShapes(other) : null;
  const words = [isTold ? ['precision'] : [], shapes === null ? [] : ['shapes']].flat();
  if (words.length === 0) return null;
  return {
    stated: { ...(isTold ? { precision } : {}), ...(shapes === null ? {} : { shapes }) },
    note: `${printable(name)} does not say its ${words.join(' and ')}: taken as in ${printable(otherName)}`,
  };
}

function isUnstated({ precision }: KeyedCell): boolean {
  return precision === 'unstated';
}

function hasNoShapes({ shapes }: KeyedCell): boolean {
  return Object.keys(shapes).length === 0;
}

/** The value that all have; null where they differ. */
function only<Value>(values: readonly Value[]): Value | null {
  const [first] = values;
  return first !== undefined && new Set(values).size === 1 ? first : null;
}

function onlyShapes(cells: readonly KeyedCell[]): Shapes | null {
  const [first] = cells;
  if (first === undefined || hasNoShapes(first)) return null;
  const text = only(cells.map(({ shapes }) => JSON.stringify(shapes)));
  return text === null ? null : first.shapes;
}
