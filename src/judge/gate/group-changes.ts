import type { CellKey } from '../../records/scalars.ts';
import { median } from '../../statistics/median.ts';
import { type GroupJudgement, type GroupShift, judgeGroups } from '../history/judge-groups.ts';
import { GROUPS } from '../history/settings.ts';
import { type CellChange, cellChange, mainOf } from './cell-change.ts';
import { CALMEST, type CellWords } from './cell-words.ts';
import { environmentChanges } from './environment-changes.ts';
import type { MetricHistory, PairResult, SweepEvidence } from './evidence.ts';
import type { KnownFindings } from './known-findings.ts';
import type { WeighedCell } from './next-state.ts';
import type { Candidate } from './verdict.ts';

export interface JudgedGroups {
  /** Of every cell of the groups that moved. */
  readonly changes: readonly CellChange[];
  /** Groups that may have moved for the worse. */
  readonly candidates: readonly Candidate[];
}

/** Cells that share words and moved together, although no single one may show it: by the metrics that they are shown by. */
export function judgeGroupsOf(
  cells: readonly WeighedCell[],
  evidence: SweepEvidence,
  known: KnownFindings,
  words: CellWords,
): JudgedGroups {
  const byMetric = Map.groupBy(cells, (cell) => mainOf(cell.evidence)?.metric);
  const found = [...byMetric.values()].map((own) => ofOneMetric(own, evidence, known, words));
  return {
    changes: found.flatMap(({ changes }) => changes),
    candidates: found.flatMap(({ candidates }) => candidates),
  };
}

function ofOneMetric(
  cells: readonly WeighedCell[],
  evidence: SweepEvidence,
  known: KnownFindings,
  words: CellWords,
): JudgedGroups {
  const { pairs, sweeps } = evidence;
  const judged = sweeps.length - 1;
  const keys = cells.map((cell) => cell.evidence.cell.key);
  if (judged < GROUPS.leastPast || cells.length < GROUPS.leastCells) return { changes: [], candidates: [] };
  const judgement = judgeGroups(
    cells.map((cell) => groupCell(cell, sweeps.length, known)),
    words.groupsOf(keys),
    judged,
    {
      reported: reportedGroups(keys, known),
      machineChanged: environmentChanges(evidence, judged - 1, judged, new Set(keys)).length > 0,
    },
  );
  const isSure = (shift: GroupShift): boolean => isConfirmed(shift, keys, pairs ?? []);
  const [sure, unsure] = [true, false].map((is) => judgement.suspected.filter((shift) => isSure(shift) === is));
  return {
    changes: [...judgement.news, ...(sure ?? [])].flatMap((shift) => changesOf(shift, cells, judged)),
    candidates: candidatesIn({ news: judgement.news, suspected: unsure ?? [] }, cells, evidence, words),
  };
}

function groupCell({ evidence, histories }: WeighedCell, sweeps: number, known: KnownFindings) {
  const main = mainOf(evidence);
  const values = Array.from<number | null>({ length: sweeps }).fill(null);
  for (const [index, place] of (main?.history.nights ?? []).entries())
    values[place] = main?.history.values[index] ?? null;
  if (main === undefined) return { values, levels: [] };
  const seen = (histories.get(main.metric)?.seen ?? []).map(({ night }) => night);
  const levels = [...seen, ...known.levelPlaces(evidence.cell.key, main.metric)];
  return { values, levels: [...new Set(levels)].toSorted((a, b) => a - b) };
}

function reportedGroups(keys: readonly CellKey[], known: KnownFindings) {
  const indexOf = new Map(keys.map((key, index) => [key, index]));
  return known.all
    .filter(({ finding, isOfThisSweep, place }) => finding.confirmedBy !== null && !isOfThisSweep && place >= 0)
    .map(({ finding, place }) => ({
      cells: [...new Set(finding.cells.flatMap(({ cellKey }) => indexOf.get(cellKey) ?? []))],
      sweep: place,
    }))
    .filter(({ cells }) => cells.length > 0);
}

/** Most of the cells of a group that were measured in pairs are slower with the newest engine. */
function isConfirmed({ cells }: GroupShift, keys: readonly CellKey[], pairs: readonly PairResult[]): boolean {
  const own = new Set(cells.map((index) => keys[index]));
  const measured = pairs.filter(({ cellKey }) => own.has(cellKey));
  const confirmed = measured.filter(({ outcome }) => outcome === 'confirmed');
  return measured.length >= CALMEST && 2 * confirmed.length > measured.length;
}

function changesOf(shift: GroupShift, cells: readonly WeighedCell[], judged: number): CellChange[] {
  return shift.cells.flatMap((index) => {
    const evidence = cells[index]?.evidence;
    const main = evidence === undefined ? undefined : mainOf(evidence);
    const before = main === undefined ? null : levelBefore(main, shift.sweep);
    if (evidence === undefined || main === undefined || before === null) return [];
    // The cell by itself may say nothing: what it has is the shift of its group.
    const levels = { before, after: before * (1 + shift.changePercent / 100) };
    const lastGood = main.history.nights.findLast((place) => place < shift.sweep) ?? null;
    const place = Math.min(shift.sweep, judged);
    const facts = { place, lastGood, confirmedBy: 'history' as const, margin: shift.deviations };
    return [cellChange(evidence.cell, main.metric, levels, facts)];
  });
}

const LEVEL_SWEEPS = 20;

function levelBefore({ history: { nights, values } }: MetricHistory, place: number): number | null {
  return median([...values].filter((_, index) => (nights[index] ?? place) < place).slice(-LEVEL_SWEEPS));
}

function candidatesIn(
  { news, suspected }: GroupJudgement,
  cells: readonly WeighedCell[],
  { sweeps }: SweepEvidence,
  words: CellWords,
): Candidate[] {
  return [...news, ...suspected].flatMap((shift): Candidate[] => {
    const own = changesOf(shift, cells, sweeps.length - 1);
    const [first] = own;
    if (first?.direction !== 'slower') return [];
    const noise = new Map(
      shift.cells.flatMap((index) => cells[index] ?? []).map((cell) => [cell.evidence.cell.key, noiseOf(cell)]),
    );
    const calmest = own.toSorted((a, b) => (noise.get(a.cellKey) ?? 0) - (noise.get(b.cellKey) ?? 0)).slice(0, CALMEST);
    return [
      {
        group: words.sharedBy(new Set(own.map(({ cellKey }) => cellKey))),
        cellKeys: calmest.map(({ cellKey }) => cellKey),
        metric: first.metric,
        changePercent: shift.changePercent,
        deviations: shift.deviations,
        lastGoodSweepId: sweeps[first.lastGood ?? -1]?.sweepId ?? null,
        isUnsteady: false,
      },
    ];
  });
}

/** How far neighboring sweeps of a cell typically lie apart, log scale. */
function noiseOf({ evidence }: WeighedCell): number {
  const values = [...(mainOf(evidence)?.history.values ?? [])].slice(-LEVEL_SWEEPS).map(Math.log);
  return median(values.slice(1).map((value, index) => Math.abs(value - (values[index] ?? value)))) ?? 0;
}

/** A change of a whole group is that of its cells: what they show by themselves is no other one. */
export function joinGroups(single: readonly CellChange[], groups: readonly CellChange[]): CellChange[] {
  const confirmed = new Set(single.filter(({ confirmedBy }) => confirmedBy !== null).map(subjectOf));
  const joined = groups.filter((change) => !confirmed.has(subjectOf(change)));
  const moved = new Set(joined.map(subjectOf));
  return [...single.filter((change) => !moved.has(subjectOf(change))), ...joined];
}

function subjectOf({ cellKey, direction, metric }: CellChange): string {
  return `${cellKey} ${metric} ${direction}`;
}
