import { type Finding, type FindingState, isOver } from '../../records/finding.ts';
import { median } from '../../statistics/median.ts';
import { ALERTING, HISTORY } from '../history/settings.ts';
import { type CellChange, isMostlyLeft, mainOf, shareLeft } from './cell-change.ts';
import type { CellEvidence, MetricHistory } from './evidence.ts';
import type { JudgedHistory } from './history-changes.ts';
import { isBeyondAccepted, type KnownFinding } from './known-findings.ts';

/** A finding younger than this is not taken back because the history does not show it yet. */
const YOUNG_SWEEPS = 3;
/** Newest values that say where a cell is: one sweep may be an outlier. */
const NEWEST_SWEEPS = 3;

/** A cell as it was judged: its evidence, and its histories by metric where they say enough. */
export interface WeighedCell {
  readonly evidence: CellEvidence;
  readonly histories: ReadonlyMap<string, JudgedHistory>;
}

/** What the judged sweep says of a change in one cell. */
interface CellState {
  /** What is left of the change: 1 all of it, 0 nothing. */
  readonly left: number;
  /** The history shows it; null where it is too short to. */
  readonly isSeen: boolean | null;
}

/**
 * What the judged sweep says of a finding that was reported before.
 * @param attached changes of this sweep that are part of it
 */
export function nextState(
  { finding, place }: KnownFinding,
  attached: readonly CellChange[],
  cells: ReadonlyMap<string, WeighedCell>,
  judged: number,
): FindingState {
  const { state } = finding;
  if (isOver(finding)) {
    return attached.some(({ confirmedBy }) => confirmedBy !== null) ? 'confirmed' : state;
  }
  if (place < 0) return 'open';
  const found = statesOf(finding, place, cells, judged);
  const seen = found.filter(({ isSeen }) => isSeen === true);
  // What is suspected of another metric is no reason to say that this change lasts.
  const isMore = attached.some((change) => change.confirmedBy !== null || hasChange(finding, change));
  if (found.length === 0 || isMore || seen.some(({ left }) => !isBack(left))) return 'open';
  // Cells of a group may be too noisy to show by themselves what all of them show together.
  if (!isBack(median(found.map(({ left }) => left)) ?? 1)) return 'open';
  if (seen.length > 0 || finding.confirmedBy !== 'history') return 'recovered';
  return judged - place < YOUNG_SWEEPS ? 'open' : 'cleared';
}

function hasChange({ cells }: Finding, { cellKey, metric }: CellChange): boolean {
  return cells.some((cell) => cell.cellKey === cellKey && cell.metric === metric);
}

/** True where the judged sweep still has the change; null where it has no value. */
export function isOff(
  cell: Finding['cells'][number],
  cells: ReadonlyMap<string, WeighedCell>,
  judged: number,
): boolean | null {
  const history = historyOf(cell, cells)?.history;
  const value = history?.values.at(-1);
  if (history?.nights.at(-1) !== judged || value === undefined) return null;
  return isMostlyLeft(cell, value);
}

/** Place of the newest sweep before the judged one that had the change in one of its cells; -1 where none is known. */
export function lastBadPlace(
  { finding, place }: KnownFinding,
  cells: ReadonlyMap<string, WeighedCell>,
  judged: number,
): number {
  const places = finding.cells.flatMap((cell) => {
    const { nights, values } = historyOf(cell, cells)?.history ?? { nights: [], values: new Float64Array() };
    const isBad = (value: number, index: number): boolean =>
      (nights[index] ?? judged) < judged && (nights[index] ?? -1) >= place && isMostlyLeft(cell, value);
    return nights[values.findLastIndex(isBad)] ?? [];
  });
  return Math.max(place, ...places);
}

function isBack(left: number): boolean {
  return left < HISTORY.backShare;
}

function statesOf(
  finding: Finding,
  place: number,
  cells: ReadonlyMap<string, WeighedCell>,
  judged: number,
): CellState[] {
  // Where a cell has changed in its own metric, that one says it: the others scatter more.
  const isOwn = ({ cellKey, metric }: Finding['cells'][number]): boolean => {
    const evidence = cells.get(cellKey)?.evidence;
    return evidence !== undefined && mainOf(evidence)?.metric === metric;
  };
  const inOwn = new Set(finding.cells.filter(isOwn).map(({ cellKey }) => cellKey));
  return finding.cells.flatMap((cell) => {
    const measured = historyOf(cell, cells);
    if (measured === undefined || measured.history.nights.at(-1) !== judged) return [];
    if (inOwn.has(cell.cellKey) && !isOwn(cell)) return [];
    return [stateOf(cell, measured, cells.get(cell.cellKey)?.histories.get(cell.metric), place)];
  });
}

function historyOf({ cellKey, metric }: Finding['cells'][number], cells: ReadonlyMap<string, WeighedCell>) {
  return cells.get(cellKey)?.evidence.metrics.find((measured) => measured.metric === metric);
}

function stateOf(
  cell: Finding['cells'][number],
  { history, runs }: MetricHistory,
  judgement: JudgedHistory | undefined,
  place: number,
): CellState {
  // Before there is a history the judged sweep says so alone, if all of its runs agree.
  const newestRuns = (runs.at(-1) ?? []).map(({ value }) => shareLeft(cell, value));
  if (judgement === undefined && newestRuns.length > 1 && newestRuns.every(isBack)) {
    return { left: Math.max(...newestRuns), isSeen: null };
  }
  const shift = cell.after - cell.before;
  const isSeen = judgement?.seen.some(
    (change) => Math.abs(change.night - place) <= ALERTING.sameNights && Math.sign(change.shift) === Math.sign(shift),
  );
  const newest = judgement?.seen.at(-1);
  const level = isSeen === true && newest !== undefined ? Math.exp(newest.after) : newestLevel(history, place);
  return { left: shareLeft(cell, level ?? cell.after), isSeen: isSeen ?? null };
}

function newestLevel({ nights, values }: MetricHistory['history'], place: number): number | null {
  return median([...values].filter((_, index) => (nights[index] ?? -1) >= place).slice(-NEWEST_SWEEPS));
}

/** True when an acknowledged finding is to be reported again: its time is over, or a young one went on to get worse. */
export function isReopened(
  { finding, place }: KnownFinding,
  acknowledgement: { readonly isOver: boolean } | undefined,
  cells: ReadonlyMap<string, WeighedCell>,
  judged: number,
): boolean {
  if (acknowledgement === undefined || isOver(finding)) return false;
  if (acknowledgement.isOver) return true;
  // Later on a further step is a change of its own.
  if (place < 0 || judged - place > ALERTING.sameNights + NEWEST_SWEEPS) return false;
  return finding.cells.some((cell) => {
    const history = historyOf(cell, cells)?.history;
    if (history === undefined || history.values.length < ALERTING.firstNight) return false;
    const level = newestLevel(history, place);
    return level !== null && isBeyondAccepted(finding, { ...cell, after: level });
  });
}
