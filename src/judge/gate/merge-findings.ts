import { type Finding, isOver } from '../../records/finding.ts';
import type { CellKey } from '../../records/scalars.ts';
import type { CellChange } from './cell-change.ts';
import type { CellWords } from './cell-words.ts';
import type { SweepEvidence } from './evidence.ts';
import type { KnownFinding, KnownFindings } from './known-findings.ts';
import { clusterChanges, findingCellOf, findingIdOf, newFinding, type WeighedChange } from './new-findings.ts';
import { isOff, lastBadPlace, nextState, type WeighedCell } from './next-state.ts';

interface Judged {
  readonly cells: readonly WeighedCell[];
  readonly reopened: ReadonlySet<string>;
  readonly judged: number;
}

/** Known findings with the changes that are part of them, and new findings of the other changes. */
export function mergeFindings(
  changes: readonly WeighedChange[],
  evidence: SweepEvidence,
  known: KnownFindings,
  words: CellWords,
  { cells, judged, reopened }: Judged,
): Finding[] {
  const covered = new Map<string, WeighedChange[]>();
  const fresh: WeighedChange[] = [];
  const accepted = new Set([...evidence.acknowledged.keys()].filter((id) => !reopened.has(id)));
  for (const change of changes) {
    const found = known.covering(change, words, accepted);
    if (found === null) fresh.push(change);
    else covered.set(found.finding.findingId, [...(covered.get(found.finding.findingId) ?? []), change]);
  }
  const byKey = new Map(cells.map((cell) => [cell.evidence.cell.key, cell]));
  const updated = known.all
    .filter(({ finding }) => finding.kind !== 'limit')
    .flatMap((entry) => {
      const { findingId, confirmedBy } = entry.finding;
      const attached = covered.get(findingId) ?? [];
      if (confirmedBy !== null && (!entry.isOfThisSweep || attached.length === 0)) {
        return afterReport(entry, attached, byKey, evidence, reopened.has(findingId), judged);
      }
      return afterSuspicion(entry, attached, { evidence, known, words, cells: byKey, judged });
    });
  const created = clusterChanges(fresh, words).map((cluster) =>
    newFinding(cluster, evidence, words, machineSweeps(cluster, known, judged)),
  );
  return [...updated, ...created];
}

/** A finding that was an alarm: it may end, and metrics and cells may join it. */
function afterReport(
  entry: KnownFinding,
  attached: readonly WeighedChange[],
  cells: ReadonlyMap<string, WeighedCell>,
  { sweeps }: SweepEvidence,
  isReopened: boolean,
  judged: number,
): Finding[] {
  const { finding, isOfThisSweep } = entry;
  const newest = sweeps[judged]?.sweepId ?? finding.reportedSweepId;
  const next = isReopened ? 'confirmed' : nextState(entry, attached, cells, judged);
  // What an earlier look at this sweep reported without a change of its own is still that, or it was a mistake.
  if (isOfThisSweep) return next === 'open' ? [finding] : [];
  const has = ({ cellKey, metric }: CellChange): boolean =>
    finding.cells.some((cell) => cell.cellKey === cellKey && cell.metric === metric);
  return [
    {
      ...finding,
      state: next,
      reportedSweepId: next === 'confirmed' ? newest : finding.reportedSweepId,
      lastBadSweepId: isOver({ state: next })
        ? (finding.lastBadSweepId ?? sweeps[lastBadPlace(entry, cells, judged)]?.sweepId ?? null)
        : null,
      cells: [
        ...finding.cells,
        ...attached.filter((change) => change.confirmedBy !== null && !has(change)).map(findingCellOf),
      ],
    },
  ];
}

/** A suspected one that neither lasts nor goes away is given up. */
const MOST_SUSPECTED = 6;

/** In the order in which they keep the finding; what became of the other cells is a finding of its own. */
const PARTS = ['confirmed', 'suspected', 'machine', 'cleared'] as const;

type Part = (typeof PARTS)[number];

interface Around {
  readonly evidence: SweepEvidence;
  readonly known: KnownFindings;
  readonly words: CellWords;
  readonly cells: ReadonlyMap<string, WeighedCell>;
  readonly judged: number;
}

/** A finding that was no alarm yet: its cells are confirmed, still off, cleared, or slow because of the machine. */
function afterSuspicion(entry: KnownFinding, attached: readonly WeighedChange[], around: Around): Finding[] {
  const { finding, isOfThisSweep } = entry;
  if (attached.length === 0 && isOfThisSweep) return [];
  const isEnded = finding.state === 'cleared' || finding.state === 'machine';
  if (attached.length === 0 && (isEnded || entry.place < 0)) return [finding];
  const ofCell = Map.groupBy(attached, ({ cellKey }) => cellKey);
  const parts = new Map<Part, CellKey[]>();
  for (const key of new Set([...finding.cells.map(({ cellKey }) => cellKey), ...ofCell.keys()])) {
    // Another look at a sweep begins anew.
    if (isOfThisSweep && !ofCell.has(key)) continue;
    const part = partOf(entry, key, ofCell.get(key) ?? [], around);
    parts.set(part, [...(parts.get(part) ?? []), key]);
  }
  const [main, ...others] = PARTS.filter((part) => parts.has(part));
  if (main === undefined) return [finding];
  const partOfFinding = (part: Part): Finding => {
    const keys = new Set(parts.get(part));
    const own = attached.filter(({ cellKey }) => keys.has(cellKey));
    return asPart(entry, part, keys, own, around);
  };
  return [
    partOfFinding(main),
    ...others.map((part) => {
      const own = partOfFinding(part);
      return { ...own, findingId: findingIdOf(own, [...new Set(own.cells.map(({ cellKey }) => cellKey))]) };
    }),
  ];
}

function partOf(entry: KnownFinding, key: CellKey, own: readonly WeighedChange[], around: Around): Part {
  const { finding, place } = entry;
  const said = own.map((change): Part => {
    if (change.fate !== 'change') return change.fate;
    return change.confirmedBy === null ? 'suspected' : 'confirmed';
  });
  const found = PARTS.find((part) => said.includes(part));
  if (found !== undefined) return found;
  if (finding.state === 'cleared' || finding.state === 'machine') return finding.state;
  const changes = finding.cells.filter(({ cellKey }) => cellKey === key);
  const states = changes.map((cell) => isOff(cell, around.cells, around.judged));
  const isGone = states.includes(false) && !states.includes(true);
  return isGone || around.judged - place >= MOST_SUSPECTED ? 'cleared' : 'suspected';
}

function asPart(
  entry: KnownFinding,
  part: Part,
  keys: ReadonlySet<CellKey>,
  own: readonly WeighedChange[],
  { cells, evidence, judged, known, words }: Around,
): Finding {
  const { finding, place } = entry;
  const { findingId, firstBadSweepId, lastGoodSweepId } = finding;
  const before = finding.cells.filter(({ cellKey }) => keys.has(cellKey));
  if (own.length === 0) {
    const isEnding = part === 'cleared' && finding.state === 'suspected';
    const lastBad = evidence.sweeps[lastBadPlace({ ...entry, finding: { ...finding, cells: before } }, cells, judged)];
    const lastBadSweepId = isEnding ? (lastBad?.sweepId ?? null) : finding.lastBadSweepId;
    return {
      ...finding,
      state: part,
      probability: isEnding ? null : finding.probability,
      lastBadSweepId,
      cells: before,
    };
  }
  const wasMachine = finding.state === 'machine' || finding.kind === 'environment';
  const sweeps = Math.max(machineSweeps(own, known, judged), wasMachine && place >= 0 ? judged - place + 1 : 1);
  const now = newFinding(own, evidence, words, sweeps);
  const has = new Set(now.cells.map(({ cellKey, metric }) => `${cellKey} ${metric}`));
  return {
    ...now,
    findingId,
    firstBadSweepId,
    lastGoodSweepId,
    group: words.sharedBy(keys),
    reportedSweepId: now.state === 'confirmed' ? now.reportedSweepId : finding.reportedSweepId,
    cells: [...now.cells, ...before.filter(({ cellKey, metric }) => !has.has(`${cellKey} ${metric}`))],
  };
}

/** For how many sweeps running these cells were slow because of the machine, the judged one included. */
function machineSweeps(cluster: readonly WeighedChange[], known: KnownFindings, judged: number): number {
  const places = new Set(cluster.flatMap(({ cellKey }) => known.machinePlaces(cellKey)));
  let running = 1;
  while (places.has(judged - running)) running += 1;
  return running;
}
