import type { Finding, FindingState } from '../../records/gate-finding.ts';
import { median } from '../../statistics/median.ts';
import { ALERTING, HISTORY } from '../history/settings.ts';
import type { CellChange } from './cell-change.ts';
import type { CellEvidence, MetricHistory } from './evidence.ts';
import type { JudgedHistory } from './history-changes.ts';
import type { KnownFinding } from './known-findings.ts';

/** A finding younger than this is not taken back because the history does not show it yet. */
const YOUNG_SWEEPS = 3;
/** A suspected one that neither lasts nor goes away is given up. */
const MOST_SUSPECTED = 6;

/** A cell as it was judged: its evidence, and its histories by metric where they say enough. */
export interface WeighedCell {
  readonly evidence: CellEvidence;
  readonly histories: ReadonlyMap<string, JudgedHistory>;
}

type Fate = 'open' | 'recovered' | 'gone';

/**
 * What the judged sweep says of a known finding.
 * @param attached changes of this sweep that are part of it
 */
export function nextState(
  { finding, place }: KnownFinding,
  attached: readonly CellChange[],
  cells: ReadonlyMap<string, WeighedCell>,
  judged: number,
): FindingState {
  const { state } = finding;
  if (attached.some(({ confirmedBy }) => confirmedBy !== null))
    return state === 'suspected' || isOver(state) ? 'confirmed' : 'open';
  if (isOver(state) || state === 'machine' || place < 0) return state;
  const fates = finding.cells.flatMap((cell) => {
    const found = cells.get(cell.cellKey);
    const measured = found?.evidence.metrics.find(({ metric }) => metric === cell.metric);
    if (found === undefined || measured === undefined || measured.history.nights.at(-1) !== judged) return [];
    return fateOf(cell, measured, found.histories.get(cell.metric), place);
  });
  if (state === 'suspected') {
    const isStillOff = fates.length === 0 || attached.length > 0 || fates.includes('open');
    return isStillOff && judged - place < MOST_SUSPECTED ? 'suspected' : 'cleared';
  }
  if (fates.length === 0 || fates.includes('open')) return 'open';
  if (fates.includes('recovered')) return 'recovered';
  return judged - place < YOUNG_SWEEPS ? 'open' : 'cleared';
}

function isOver(state: FindingState): boolean {
  return state === 'cleared' || state === 'recovered';
}

function fateOf(
  { after, before }: Finding['cells'][number],
  { history }: MetricHistory,
  judgement: JudgedHistory | undefined,
  place: number,
): Fate {
  const since = [...history.values].filter((_, index) => (history.nights[index] ?? -1) >= place);
  const shift = after - before;
  const isBack = (level: number): boolean => Math.abs(level - before) < HISTORY.backShare * Math.abs(shift);
  const isSeen = judgement?.seen.some(
    (change) => Math.abs(change.night - place) <= ALERTING.sameNights && Math.sign(change.shift) === Math.sign(shift),
  );
  if (isSeen === true) {
    const newest = judgement?.seen.at(-1);
    return newest !== undefined && isBack(Math.exp(newest.after)) ? 'recovered' : 'open';
  }
  // The newest three: one sweep may be an outlier.
  const level = median(since.slice(-3)) ?? after;
  if (!isBack(level)) return 'open';
  return judgement === undefined ? 'recovered' : 'gone';
}

/** A level worse by this share of the acknowledged change, and by this much in all, is a new regression. */
const WORSE_SHARE = 0.25;
const WORSE_LEAST = 0.01;

/** True when an acknowledged finding is to be reported again: its time is over, or a cell is much worse than was accepted. */
export function isReopened(
  { finding, place }: KnownFinding,
  acknowledgement: { readonly isOver: boolean } | undefined,
  cells: ReadonlyMap<string, Pick<WeighedCell, 'evidence'>>,
): boolean {
  if (acknowledgement === undefined) return false;
  if (acknowledgement.isOver) return true;
  return finding.cells.some(({ after, before, cellKey, metric }) => {
    const history = cells.get(cellKey)?.evidence.metrics.find((measured) => measured.metric === metric)?.history;
    if (history === undefined) return false;
    const since = [...history.values].filter((_, index) => (history.nights[index] ?? -1) >= place);
    const level = median(since.slice(-3));
    if (level === null || before <= 0 || after <= 0) return false;
    const accepted = Math.log(after / before);
    return Math.log(level / after) * Math.sign(accepted) > Math.max(WORSE_LEAST, WORSE_SHARE * Math.abs(accepted));
  });
}
