import type { Finding } from '../../records/finding.ts';
import { type GatedMetricId, gatedMetricOf } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import { directionOf } from '../history/change-points.ts';
import { isSame, lastingChanges } from '../history/lasting-changes.ts';
import { candidatesOf } from './candidates.ts';
import { type CellChange, mainOf } from './cell-change.ts';
import { CellWords } from './cell-words.ts';
import type { CellEvidence, PairResult, SweepEvidence } from './evidence.ts';
import { judgedCell } from './judged-cells.ts';
import { judgeMetrics } from './judge-metrics.ts';
import { limitFindings } from './limit-findings.ts';
import { changeOfPair, changeOfState } from './metric-changes.ts';
import { type MetricStates, stateIn, statesAt } from './metric-state.ts';
import { hasCell, placeFindings, type PlacedFinding } from './placed-finding.ts';
import { reduceFindings } from './reduce-findings.ts';
import { isSteady, steadyChanges } from './steady-metrics.ts';
import { valuesAt } from './values-at.ts';
import type { JudgedCell, SweepVerdict } from './verdict.ts';

/**
 * What is slower or faster in the newest sweep than its reference level, and what became of the findings of earlier
 * sweeps. The same evidence gives the same verdict.
 */
export function judgeSweep(evidence: SweepEvidence): SweepVerdict {
  const { acknowledged, cells, findings, rules, sweeps } = evidence;
  const judged = sweeps.length - 1;
  // What an earlier look at this sweep reported is found again, by its id.
  const earlier = findings.filter(({ reportedSweepId }) => reportedSweepId !== sweeps[judged]?.sweepId);
  const known = placeFindings(earlier, sweeps);
  const ended = [...acknowledged].flatMap(([id, { isOver }]) => (isOver ? [id] : []));
  const accepted = new Set([...acknowledged.keys()].filter((id) => !ended.includes(id)));
  const words = new CellWords(evidence);
  const newest = judgeMetrics(evidence, known, accepted, words);
  const states = statesAt(newest, judged);
  const changes = [
    ...withPairs(changesOf(evidence, states, known), evidence),
    ...cells.flatMap((cell) => steadyMetricChanges(cell, known, judged)),
  ].filter((change) => Math.abs(change.changePercent) >= rules.minChangeOf(change.cellKey, change.metric));
  const facts = { evidence, states, words, accepted };
  const reduced = reduceFindings(known, changes, facts).map((one) => withHistory(one, evidence));
  const after = withEarlierIds([...reduced, ...limitsOf(evidence)], evidence);
  const byKey = new Map(cells.map((cell) => [cell.cell.key, cell]));
  const judgedIn = (cellKey: CellKey, metric: GatedMetricId | undefined): JudgedCell | null => {
    const cell = byKey.get(cellKey);
    const measured = cell?.metrics.find((one) => one.metric === metric);
    if (cell === undefined || measured === undefined) return null;
    return withMinChange(judgedCell(cell, measured, newest, after, accepted, judged), rules);
  };
  return {
    judgedBy: isFirst(cells, judged) ? 'first' : 'reference',
    findings: after,
    endedAcknowledgements: ended,
    cells: cells.flatMap((cell) => judgedIn(cell.cell.key, mainOf(cell)?.metric) ?? []),
    judged: judgedIn,
    candidates: candidatesOf(cells, states, after, words, sweeps),
  };
}

/** A change that is too small to matter is none. */
function withMinChange(cell: JudgedCell, { minChangeOf }: SweepEvidence['rules']): JudgedCell {
  const { cellKey, changePercent, metric, verdict } = cell;
  const isSmall = changePercent !== null && Math.abs(changePercent) < minChangeOf(cellKey, metric);
  return isSmall && (verdict === 'slower' || verdict === 'faster') ? { ...cell, verdict: 'same' } : cell;
}

/** Off the reference by this number of standard errors, what no finding says is reported in a later sweep, too. */
const UNREPORTED_ERRORS = 5;

/** What is reported in this sweep, and what is off its reference without a finding that says so. */
function changesOf({ cells }: SweepEvidence, states: MetricStates, known: readonly PlacedFinding[]): CellChange[] {
  return cells.flatMap((cell) =>
    cell.metrics.flatMap((measured): CellChange[] => {
      const state = stateIn(states, cell.cell.key, measured.metric);
      if (state === null || state.verdict === 'same' || state.verdict === 'unclear') return [];
      // A step towards the reference is no finding of its own: that of the way there ends, or goes on.
      const isTowards = state.reported !== null && Math.sign(state.reported.worse) !== Math.sign(state.worse);
      const isStep = state.reported !== null && !isTowards;
      const isUnsure = Math.abs(state.worse) < UNREPORTED_ERRORS * state.error;
      const isKnown = known.some(
        ({ finding }) =>
          finding.state === 'open' &&
          finding.direction === state.verdict &&
          hasCell(finding, cell.cell.key, measured.metric),
      );
      if (!isStep && (isKnown || isUnsure)) return [];
      return [changeOfState(cell, measured, state, isKnown ? state.reported : null)];
    }),
  );
}

/** What pairs say of the changes of this sweep, and what they alone show. */
function withPairs(changes: readonly CellChange[], { cells, pairs }: SweepEvidence): CellChange[] {
  const ofCell = new Map((pairs ?? []).map((pair) => [pair.cellKey, pair]));
  const weighed = changes.map((change): CellChange => {
    const pair = ofCell.get(change.cellKey);
    if (pair === undefined || change.direction === 'faster') return change;
    const isBuildLuck = change.isBuildLuck || pair.outcome === 'buildLuck';
    return { ...change, pairs: pair, isBuildLuck, lasts: isConfirmed(pair.outcome) ? 'pairs' : null };
  });
  const changed = new Set(changes.filter(({ direction }) => direction === 'slower').map(({ cellKey }) => cellKey));
  const others = (pairs ?? []).filter(({ cellKey, outcome }) => isConfirmed(outcome) && !changed.has(cellKey));
  const only = others.flatMap((pair) => {
    const cell = cells.find((one) => one.cell.key === pair.cellKey);
    const isBuildLuck = pair.outcome === 'buildLuck';
    const found = cell === undefined ? [] : changeOfPair(cell, pair);
    return found.map((change): CellChange => ({ ...change, pairs: pair, isBuildLuck, lasts: 'pairs' }));
  });
  return [...weighed, ...only];
}

function isConfirmed(outcome: PairResult['outcome']): boolean {
  return outcome === 'confirmed' || outcome === 'buildLuck';
}

/** Whether the history of the clearest cell shows that a finding lasts. */
function withHistory(finding: Finding, { cells, sweeps }: SweepEvidence): Finding {
  const { cells: changes, direction, firstBadSweepId, lasts, state } = finding;
  if (state !== 'open' || lasts !== null) return finding;
  const [clearest] = changes.toSorted((a, b) => b.margin - a.margin);
  const ofCell = cells.find(({ cell }) => cell.key === clearest?.cellKey);
  const history = ofCell?.metrics.find(({ metric }) => metric === clearest?.metric)?.history;
  if (history === undefined || clearest === undefined || isSteady(clearest.metric)) return finding;
  const place = sweeps.findIndex(({ sweepId }) => sweepId === firstBadSweepId);
  const isSeen = lastingChanges(history, sweeps.length - 1).some(
    (change) =>
      isSame(change, { night: place }) &&
      directionOf(change.shift, gatedMetricOf(clearest.metric).betterIs) === direction,
  );
  return isSeen ? { ...finding, lasts: 'history' } : finding;
}

/**
 * What an earlier look at this sweep reported goes on by its id in what is found of its cells now. Where nothing is, it
 * is no finding; an acknowledged one is over then, unless its cells have no value.
 */
function withEarlierIds(
  found: readonly Finding[],
  { acknowledged, cells: all, findings, sweeps }: SweepEvidence,
): Finding[] {
  const judged = sweeps.at(-1)?.sweepId;
  const after = new Map(found.map((one) => [one, one]));
  const lost = findings.filter((earlier) => {
    if (earlier.reportedSweepId !== judged) return false;
    const same = found.find(
      (one) =>
        one.reportedSweepId === judged &&
        one.direction === earlier.direction &&
        one.kind === earlier.kind &&
        after.get(one) === one &&
        one.cells.some(({ cellKey, metric }) => hasCell(earlier, cellKey, metric)),
    );
    if (same !== undefined)
      after.set(same, { ...same, findingId: earlier.findingId, owner: earlier.owner ?? same.owner });
    return same === undefined && acknowledged.has(earlier.findingId);
  });
  const isMeasured = (finding: Finding): boolean =>
    all.some(({ cell, metrics }) =>
      metrics.some(
        ({ history, metric }) => history.nights.at(-1) === sweeps.length - 1 && hasCell(finding, cell.key, metric),
      ),
    );
  const kept = lost.map((one): Finding => {
    const lastBadSweepId = one.lastBadSweepId ?? one.firstBadSweepId;
    return isMeasured(one) ? { ...one, state: 'recovered', lastBadSweepId } : one;
  });
  return [...after.values(), ...kept];
}

function steadyMetricChanges(cell: CellEvidence, known: readonly PlacedFinding[], judged: number): CellChange[] {
  return cell.metrics
    .filter(({ metric }) => isSteady(metric))
    .flatMap((measured) => {
      const own = known.filter(({ finding }) => hasCell(finding, cell.cell.key, measured.metric));
      return steadyChanges(cell, measured, own, judged);
    });
}

/** Limits that people set hold in every sweep, also in the first one. */
function limitsOf({ acknowledged, cells, findings, rules, sweeps }: SweepEvidence): Finding[] {
  const known = findings.filter(({ kind }) => kind === 'limit');
  const series = sweeps.at(-1);
  if (series === undefined || (rules.limited.length === 0 && known.length === 0)) return [];
  const [first, ...others] = sweeps.map(({ sweepId }, place) => ({
    sweepId,
    values: valuesAt(cells, rules.limited, place),
  }));
  return first === undefined ? [] : limitFindings({ rules, sweeps: [first, ...others], known, acknowledged, series });
}

/** On another machine every cell begins anew. */
function isFirst(cells: readonly CellEvidence[], judged: number): boolean {
  const mains = cells.flatMap((cell) => mainOf(cell) ?? []);
  return judged === 0 || (mains.length > 0 && mains.every(({ history }) => history.nights[0] === judged));
}
