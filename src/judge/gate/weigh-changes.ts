import { type CellChange, cellChange, mainOf } from './cell-change.ts';
import type { CellEvidence, PairResult } from './evidence.ts';
import type { WeighedChange } from './new-findings.ts';

/** How long a change may be there for the pairs of the judged sweep to say something of it. */
const PAIRED_SWEEPS = 2;

/** What the pairs say of the changes, and changes that only pairs show. */
export function weighChanges(
  changes: readonly CellChange[],
  cells: readonly CellEvidence[],
  pairs: readonly PairResult[],
  judged: number,
): WeighedChange[] {
  const ofCell = new Map(
    pairs.filter(({ outcome }) => outcome !== 'notComparable').map((pair) => [pair.cellKey, pair] as const),
  );
  const isWeighed = ({ confirmedBy, direction, place }: CellChange): boolean =>
    direction === 'slower' && judged - place <= PAIRED_SWEEPS && confirmedBy !== 'measured';
  const weighed = changes.map((change): WeighedChange => {
    const found = isWeighed(change) ? (ofCell.get(change.cellKey) ?? null) : null;
    if (found === null) return { ...change, pairs: null };
    const isLuck = found.outcome === 'buildLuck';
    const isEngine = isLuck || found.outcome === 'confirmed';
    return { ...change, pairs: found, isBuildLuck: isLuck, confirmedBy: isEngine ? 'pairs' : null };
  });
  const known = new Set(weighed.filter(({ pairs: found }) => found !== null).map(({ cellKey }) => cellKey));
  const only = cells.flatMap((cell): WeighedChange[] => {
    const found = ofCell.get(cell.cell.key);
    const measured = mainOf(cell);
    const after = measured?.history.values.at(-1);
    if (found === undefined || measured === undefined || after === undefined || known.has(cell.cell.key)) return [];
    if (found.outcome !== 'confirmed' && found.outcome !== 'buildLuck') return [];
    const levels = { before: after / (1 + found.changePercent / 100), after };
    const facts = {
      place: judged,
      lastGood: measured.history.nights.at(-2) ?? null,
      confirmedBy: 'pairs' as const,
      isBuildLuck: found.outcome === 'buildLuck',
    };
    return [{ ...cellChange(cell.cell, measured.metric, levels, facts), pairs: found }];
  });
  return [...weighed, ...only];
}
