import type { CellKey } from '../../records/scalars.ts';
import { environmentDifferences } from '../compare/differences.ts';
import type { SweepEvidence } from './evidence.ts';

/** Changes of the machine recorded for all of these cells between two sweeps, in words: `driver 580.1 → 580.2`. */
export function environmentChanges(
  { cells, environments }: SweepEvidence,
  from: number,
  to: number,
  keys: ReadonlySet<CellKey>,
): string[] {
  const ofEach = cells
    .filter(({ cell }) => keys.has(cell.key))
    .map(({ environmentIds }) => {
      const [before, after] = [from, to].map((place) => environments.get(environmentIds[place] ?? ''));
      return before === undefined || after === undefined ? [] : environmentDifferences(before, after);
    });
  const [first = [], ...others] = ofEach;
  return first.filter((change) => others.every((changes) => changes.includes(change)));
}
