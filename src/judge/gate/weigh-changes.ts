import type { CellKey } from '../../records/scalars.ts';
import { type CellChange, cellChange } from './cell-change.ts';
import type { CellEvidence, PairResult, SweepEvidence } from './evidence.ts';
import type { CellWords } from './cell-words.ts';
import type { KnownFindings } from './known-findings.ts';
import type { WeighedChange } from './new-findings.ts';

const PAIRS = {
  /** How many sweeps a change may be old for the pairs of the judged sweep to say something of it. */
  sweeps: 3,
  /** This number of cells of a place, most of those that were measured, speak for its others. */
  speakers: 3,
  /** Cleared in this number of sweeps, a cell is left to its history. */
  mostCleared: 2,
} as const;

/** What the pairs say of the changes, and changes that only pairs show. */
export function weighChanges(
  changes: readonly CellChange[],
  { cells, pairs, sweeps }: SweepEvidence,
  known: KnownFindings,
  words: CellWords,
): WeighedChange[] {
  const judged = sweeps.length - 1;
  const ofCell = new Map((pairs ?? []).map((pair) => [pair.cellKey, pair] as const));
  const isWeighed = ({ confirmedBy, direction, place }: CellChange): boolean =>
    direction === 'slower' && judged - place <= PAIRS.sweeps && confirmedBy !== 'measured';
  const spoken = groupResult(changes.filter(isWeighed), ofCell, words);
  const weighed = changes.map((change): WeighedChange => {
    if (!isWeighed(change)) return { ...change, pairs: null, fate: 'change' };
    const result = ofCell.get(change.cellKey) ?? spoken(change.cellKey);
    const isLeft = result?.outcome === 'cleared' && known.clearedSweeps(change.cellKey) >= PAIRS.mostCleared;
    return isLeft ? { ...change, pairs: null, fate: 'change' } : weigh(change, result, pairs !== null);
  });
  const said = new Set(weighed.filter(({ pairs: found }) => found !== null).map(({ cellKey }) => cellKey));
  const others = (pairs ?? []).filter(({ cellKey }) => !said.has(cellKey));
  return [...weighed, ...others.flatMap((pair) => onlyInPairs(pair, cells, judged))];
}

/** @param isPaired the suspects of this sweep were to be measured in pairs */
function weigh(change: CellChange, result: PairResult | null, isPaired: boolean): WeighedChange {
  switch (result?.outcome) {
    case 'confirmed':
      return { ...change, pairs: result, fate: 'change', confirmedBy: 'pairs' };
    case 'buildLuck':
      return { ...change, pairs: result, fate: 'change', confirmedBy: 'pairs', isBuildLuck: true };
    case 'machine':
    case 'cleared':
      return { ...change, pairs: result, fate: result.outcome, confirmedBy: null };
    case 'notComparable':
    case undefined: {
      // Where pairs can be measured, and were not all reached, one comparison of two sweeps is no more than a suspicion.
      const isUnsure = isPaired && change.confirmedBy === 'previousSweep' && result?.count !== 0;
      return { ...change, pairs: result, fate: 'change', confirmedBy: isUnsure ? null : change.confirmedBy };
    }
  }
}

/** What the measured cells of a group say of its cells that were not measured; null where too few say the same. */
function groupResult(
  changes: readonly CellChange[],
  ofCell: ReadonlyMap<CellKey, PairResult>,
  words: CellWords,
): (key: CellKey) => PairResult | null {
  const measured = [...new Set(changes.map(({ cellKey }) => cellKey))].flatMap((key) => ofCell.get(key) ?? []);
  const byOutcome = [...Map.groupBy(measured, ({ outcome }) => outcome).values()];
  const [most = []] = byOutcome.toSorted((a, b) => b.length - a.length);
  const group = words.sharedBy(new Set(most.map(({ cellKey }) => cellKey)));
  const isSure = most.length >= PAIRS.speakers && 2 * most.length > measured.length;
  return (key) => (isSure && words.hasAll(key, group) ? (most[0] ?? null) : null);
}

function onlyInPairs(pair: PairResult, cells: readonly CellEvidence[], judged: number): WeighedChange[] {
  const cell = cells.find((each) => each.cell.key === pair.cellKey);
  const measured = cell?.metrics.find(({ metric }) => metric === pair.metric);
  const after = measured?.history.values.at(-1);
  if (cell === undefined || measured === undefined || after === undefined) return [];
  if (pair.outcome !== 'confirmed' && pair.outcome !== 'buildLuck') return [];
  const levels = { before: after / (1 + pair.changePercent / 100), after };
  const facts = {
    place: judged,
    lastGood: measured.history.nights.at(-2) ?? null,
    confirmedBy: 'pairs' as const,
    isBuildLuck: pair.outcome === 'buildLuck',
  };
  return [{ ...cellChange(cell.cell, measured.metric, levels, facts), pairs: pair, fate: 'change' }];
}
