import type { CellKey } from '../../records/scalars.ts';
import { type candidatesOf, noiseOf } from './candidates.ts';
import { type CellChange, cellChange } from './cell-change.ts';
import type { CellEvidence, PairResult, SweepEvidence } from './evidence.ts';
import type { CellWords } from './cell-words.ts';
import { INTERVAL_ERRORS } from './few-sweeps.ts';
import type { KnownFindings } from './known-findings.ts';
import type { WeighedChange } from './new-findings.ts';
import { SUSPECTS } from '../history/settings.ts';
import type { Candidate } from './verdict.ts';

const PAIRS = {
  /** How many sweeps a change may be old for the pairs of the judged sweep to say something of it. */
  sweeps: 3,
  /** This number of cells of a place, most of those that were measured, speak for its others. */
  speakers: 3,
  /** Cleared in this number of sweeps, a cell is left to its history. */
  mostCleared: 2,
} as const;

/** What the pairs say of the changes, and changes that only pairs show: of the measured cells, and of those like them. */
export function weighChanges(
  changes: readonly CellChange[],
  { cells, pairs, sweeps }: SweepEvidence,
  known: KnownFindings,
  words: CellWords,
  suspects: ReturnType<typeof candidatesOf>,
): WeighedChange[] {
  const judged = sweeps.length - 1;
  const ofCell = new Map((pairs ?? []).map((pair) => [pair.cellKey, pair] as const));
  const isWeighed = ({ confirmedBy, direction, place }: CellChange): boolean =>
    direction === 'slower' && judged - place <= PAIRS.sweeps && confirmedBy !== 'measured';
  const changed = new Set(changes.filter(isWeighed).map(({ cellKey }) => cellKey));
  const spoken = spokenGroups(pairs ?? [], changed, suspects.candidates, words);
  const weighed = changes.map((change): WeighedChange => {
    if (!isWeighed(change)) return { ...change, pairs: null, fate: 'change' };
    const ofGroup = spoken.find(({ group }) => words.hasAll(change.cellKey, group));
    const result = ofCell.get(change.cellKey) ?? ofGroup?.said[0] ?? null;
    const isLeft = result?.outcome === 'cleared' && known.clearedSweeps(change.cellKey) >= PAIRS.mostCleared;
    return isLeft ? { ...change, pairs: null, fate: 'change' } : weigh(change, result, pairs !== null);
  });
  const said = new Set(weighed.filter(({ pairs: found }) => found !== null).map(({ cellKey }) => cellKey));
  const others = (pairs ?? []).filter(({ cellKey }) => !said.has(cellKey));
  const similar = suspects.moved.flatMap((one) =>
    one.cellKeys.flatMap((cellKey) => {
      if (ofCell.has(cellKey) || changed.has(cellKey)) return [];
      const found = spoken.find(({ group, said: results }) => words.hasAll(cellKey, group) && isSimilar(one, results));
      const [pair] = found?.isOfCandidate === true ? found.said : [];
      return pair === undefined ? [] : onlyInPairs(pair, { ...one, cellKey }, cells, judged);
    }),
  );
  const open = others.flatMap((pair) => stillSuspected(pair, suspects.candidates, cells, judged));
  return [...weighed, ...others.flatMap((pair) => onlyInPairs(pair, pair, cells, judged)), ...similar, ...open];
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

interface SpokenGroup {
  readonly group: readonly string[];
  /** The results that most of its measured cells have; at least three. */
  readonly said: readonly PairResult[];
  /** It was chosen to be measured as a group. */
  readonly isOfCandidate: boolean;
}

/** Groups of which the measured cells speak for the others, and what those measured that changed have in common. */
function spokenGroups(
  pairs: readonly PairResult[],
  changed: ReadonlySet<CellKey>,
  candidates: readonly Candidate[],
  words: CellWords,
): SpokenGroup[] {
  const ofCandidates = candidates
    .filter(({ group }) => group.length > 0)
    .map(({ group }) => ({ group, own: pairs.filter(({ cellKey }) => words.hasAll(cellKey, group)) }));
  const ofChanges = { group: null, own: pairs.filter(({ cellKey }) => changed.has(cellKey)) };
  return [...ofCandidates, ofChanges].flatMap(({ group, own }) => {
    const byOutcome = [...Map.groupBy(own, ({ outcome }) => outcome).values()];
    const [said = []] = byOutcome.toSorted((a, b) => b.length - a.length);
    const isSure = said.length >= PAIRS.speakers && 2 * said.length > own.length;
    const shared = group ?? words.sharedBy(new Set(said.map(({ cellKey }) => cellKey)));
    return isSure ? [{ group: shared, said, isOfCandidate: group !== null }] : [];
  });
}

/** It moved, and within its noise as far as one of the measured cells, or between two of them: both by an interval of 95 %. */
function isSimilar(one: Candidate, said: readonly PairResult[]): boolean {
  const sizes = said.filter(({ metric }) => metric === one.metric).map(({ changePercent }) => changePercent);
  const reach = INTERVAL_ERRORS * noiseOf(one);
  const { changePercent, deviations } = one;
  return (
    deviations >= INTERVAL_ERRORS &&
    sizes.some((size) => size <= changePercent + reach) &&
    sizes.some((size) => size >= changePercent - reach)
  );
}

/** @param pair of the cell, or of one that speaks for it */
function onlyInPairs(
  pair: PairResult,
  { cellKey, changePercent }: Pick<PairResult, 'cellKey' | 'changePercent'>,
  cells: readonly CellEvidence[],
  judged: number,
): WeighedChange[] {
  const cell = cells.find((each) => each.cell.key === cellKey);
  const measured = cell?.metrics.find(({ metric }) => metric === pair.metric);
  const after = measured?.history.values.at(-1);
  if (cell === undefined || measured === undefined || after === undefined) return [];
  if (pair.outcome !== 'confirmed' && pair.outcome !== 'buildLuck') return [];
  const levels = { before: after / (1 + changePercent / 100), after };
  const facts = {
    place: judged,
    lastGood: measured.history.nights.at(-2) ?? null,
    confirmedBy: 'pairs' as const,
    isBuildLuck: pair.outcome === 'buildLuck',
  };
  return [{ ...cellChange(cell.cell, measured.metric, levels, facts), pairs: pair, fate: 'change' }];
}

/** What was so far off its level that it was to be measured in pairs, and could not be. */
function stillSuspected(
  pair: PairResult,
  candidates: readonly Candidate[],
  cells: readonly CellEvidence[],
  judged: number,
): WeighedChange[] {
  const cell = cells.find((each) => each.cell.key === pair.cellKey);
  const measured = cell?.metrics.find(({ metric }) => metric === pair.metric);
  const after = measured?.history.values.at(-1);
  const suspect = candidates.find(({ cellKeys, metric }) => metric === pair.metric && cellKeys.includes(pair.cellKey));
  if (cell === undefined || measured === undefined || after === undefined || suspect === undefined) return [];
  if (pair.outcome !== 'notComparable' || suspect.deviations < SUSPECTS.farDeviations) return [];
  const levels = { before: after / (1 + suspect.changePercent / 100), after };
  const lastGood = measured.history.nights.at(-2) ?? null;
  const facts = { place: judged, lastGood, confirmedBy: null, margin: suspect.deviations };
  return [{ ...cellChange(cell.cell, measured.metric, levels, facts), pairs: pair, fate: 'change' }];
}
