import type { Finding } from '../../records/finding.ts';
import { type GatedMetricId, gatedMetricOf } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import { directionOf } from '../history/change-points.ts';
import { isSame, lastingChanges } from '../history/lasting-changes.ts';
import { CALMEST, CellWords } from './cell-words.ts';
import type { CellEvidence, MetricHistory, PairResult, SweepEvidence } from './evidence.ts';
import { judgedCell } from './judged-cells.ts';
import { judgeMetrics } from './judge-metrics.ts';
import { limitFindings } from './limit-findings.ts';
import {
  type CellChange,
  cellIn,
  changeOfPair,
  changeOfState,
  type JudgedFacts,
  placeFindings,
  rawPercent,
  stateIn,
  statesAt,
} from './metric-changes.ts';
import { reduceFindings } from './reduce-findings.ts';
import { isSteady, steadyChanges } from './steady-metrics.ts';
import type { Candidate, JudgedCell, SweepVerdict } from './verdict.ts';
import { median } from '../../statistics/median.ts';

/** Off the reference by this number of standard errors: less is worth no pairs. */
const LEAST_DEVIATIONS = 3;

/**
 * Cells off their reference for the worse, by the metric that shows it most clearly; its own one first.
 * @param findings after the judged sweep: an older one explains its cells, unless pairs are still to be measured
 * @returns groups before cells, the farthest off first
 */
function candidatesOf(facts: JudgedFacts, findings: readonly Finding[]): readonly Candidate[] {
  const { cells, sweeps } = facts.evidence;
  const judged = sweeps.at(-1)?.sweepId;
  const explaining = findings.filter(
    ({ lasts, pairs, reportedSweepId, state }) =>
      state === 'open' && reportedSweepId !== judged && (lasts !== null || pairs !== null),
  );
  const explained = new Set(explaining.flatMap((finding) => finding.cells.map(({ cellKey }) => cellKey)));
  const singles = cells
    .filter(({ cell }) => !explained.has(cell.key))
    .flatMap((evidence) =>
      evidence.metrics
        .flatMap((measured) => candidateOf(evidence, measured, facts))
        .toSorted((a, b) => b.deviations - a.deviations)
        .slice(0, 1),
    );
  const { groups, others } = grouped(singles, facts.words);
  return [groups, others].flatMap((part) => part.toSorted((a, b) => b.deviations - a.deviations));
}

function candidateOf(
  { cell: { key: cellKey } }: CellEvidence,
  measured: MetricHistory,
  { evidence: { sweeps }, states }: JudgedFacts,
): Candidate[] {
  const { history, metric } = measured;
  const state = stateIn(states, { cellKey, metric });
  if (state === null) return [];
  const { change, isOnlyRunFarOff, levels, reported, verdict } = state;
  const deviations = change.error > 0 ? change.log / change.error : 0;
  const isOff = verdict === 'slower' || deviations >= LEAST_DEVIATIONS || isOnlyRunFarOff;
  if (change.log <= 0 || !(isOff || reported?.direction === 'slower')) return [];
  const index = reported === null ? -1 : history.nights.indexOf(reported.first);
  const lastGood = index > 0 ? history.nights[index - 1] : history.nights.at(-2);
  return [
    {
      group: [],
      cellKeys: [cellKey],
      metric,
      changePercent: rawPercent(metric, change.log),
      deviations: Math.max(LEAST_DEVIATIONS, deviations),
      lastGoodSweepId: sweeps[lastGood ?? -1]?.sweepId ?? null,
      isUnsteady: levels !== null || hasUnlikeBuilds(measured),
    },
  ];
}

/** The three calmest cells of each group speak for it. */
function grouped(singles: readonly Candidate[], words: CellWords) {
  const ofCell = new Map(singles.flatMap((one) => one.cellKeys.map((key) => [key, one] as const)));
  const found = words.groupsAmong(new Set(ofCell.keys()));
  const inGroups = new Set<CellKey>(found.flatMap(({ keys }) => [...keys]));
  const groups = found.flatMap(({ group, keys }): Candidate[] => {
    const own = [...keys].flatMap((key) => ofCell.get(key) ?? []);
    const calmest = own.toSorted((a, b) => noiseOf(a) - noiseOf(b)).slice(0, CALMEST);
    const [first] = calmest;
    if (first === undefined) return [];
    const middle = (of: (one: Candidate) => number): number => median(own.map(of)) ?? 0;
    return [
      {
        ...first,
        group,
        cellKeys: calmest.flatMap(({ cellKeys }) => cellKeys),
        changePercent: middle(({ changePercent }) => changePercent),
        deviations: middle(({ deviations }) => deviations),
        isUnsteady: calmest.some(({ isUnsteady }) => isUnsteady),
      },
    ];
  });
  return { groups, others: singles.filter(({ cellKeys }) => !cellKeys.some((key) => inGroups.has(key))) };
}

/** In percent. */
function noiseOf({ changePercent, deviations }: Candidate): number {
  return Math.abs(changePercent) / deviations;
}

/** Builds of the same sources differed before: their tactics may differ again. */
function hasUnlikeBuilds({ history: { builds = [], sources = [] } }: MetricHistory): boolean {
  const last = sources.at(-1) ?? null;
  if (last === null) return false;
  return new Set(builds.slice(0, -1).filter((_, place) => sources[place] === last)).size > 1;
}

/**
 * What is slower or faster in the newest sweep than its reference level, and what became of the findings of earlier
 * sweeps. The same evidence gives the same verdict.
 */
export function judgeSweep(evidence: SweepEvidence): SweepVerdict {
  const { acknowledged, cells, findings, rules, sweeps } = evidence;
  const judged = sweeps.length - 1;
  // What an earlier look at this sweep reported is found again, by its id.
  const earlier = findings.filter(({ reportedSweepId }) => reportedSweepId !== sweeps[judged]?.sweepId);
  const ended = [...acknowledged].flatMap(([id, { isOver }]) => (isOver ? [id] : []));
  const accepted = new Set([...acknowledged.keys()].filter((id) => !ended.includes(id)));
  const around = { evidence, known: placeFindings(earlier, sweeps), accepted, words: new CellWords(evidence) };
  const newest = judgeMetrics(around);
  const facts = { ...around, states: statesAt(newest, judged) };
  const changes = [
    ...withPairs(changesOf(facts), evidence),
    ...cells.flatMap((cell) =>
      cell.metrics.flatMap((measured) => steadyChanges(cell, measured, around.known, evidence)),
    ),
  ].filter((change) => Math.abs(change.changePercent) >= rules.minChangeOf(change.cellKey, change.metric));
  const reduced = reduceFindings(changes, facts).map((one) => withHistory(one, evidence));
  const after = withEarlierIds([...reduced, ...limitFindings(evidence)], evidence);
  const byKey = new Map(cells.map((cell) => [cell.cell.key, cell]));
  const judgedIn = (cellKey: CellKey, metric: GatedMetricId | undefined): JudgedCell | null => {
    const cell = byKey.get(cellKey);
    const measured = cell?.metrics.find((one) => one.metric === metric);
    if (cell === undefined || measured === undefined) return null;
    return withMinChange(judgedCell(cell, measured, { ...facts, states: newest }, after), rules);
  };
  const mains = cells.flatMap(({ metrics: [main] }) => main ?? []);
  // On another machine every cell begins anew.
  const isFirst = judged === 0 || (mains.length > 0 && mains.every(({ history }) => history.nights[0] === judged));
  return {
    judgedBy: isFirst ? 'first' : 'reference',
    findings: after,
    endedAcknowledgements: ended,
    cells: cells.flatMap(({ cell, metrics: [main] }) => judgedIn(cell.key, main?.metric) ?? []),
    judged: judgedIn,
    candidates: candidatesOf(facts, after),
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
function changesOf({ evidence, known, states }: JudgedFacts): CellChange[] {
  return evidence.cells.flatMap((cell) =>
    cell.metrics.flatMap((measured): CellChange[] => {
      const about = { cellKey: cell.cell.key, metric: measured.metric };
      const state = stateIn(states, about);
      if (state === null || state.verdict === 'same' || state.verdict === 'unclear') return [];
      const { change, reported, verdict } = state;
      // A step towards the reference is no finding of its own: that of the way there ends, or goes on.
      const isStep = reported !== null && Math.sign(reported.change.log) === Math.sign(change.log);
      const isKnown = known.some(
        ({ finding }) => finding.state === 'open' && finding.direction === verdict && cellIn(finding, about),
      );
      if (!isStep && (isKnown || Math.abs(change.log) < UNREPORTED_ERRORS * change.error)) return [];
      return [changeOfState(cell, measured, state, isKnown ? reported : null)];
    }),
  );
}

/** What pairs say of the changes of this sweep, and what they alone show. */
function withPairs(changes: readonly CellChange[], { cells, pairs }: SweepEvidence): CellChange[] {
  const ofCell = new Map((pairs ?? []).map((pair) => [pair.cellKey, pair]));
  const weighed = changes.map((change): CellChange => {
    const pair = ofCell.get(change.cellKey);
    if (pair === undefined || change.direction === 'faster') return change;
    const { isBuildLuck, lasts } = saidBy(pair);
    return { ...change, pairs: pair, isBuildLuck: change.isBuildLuck || isBuildLuck, lasts };
  });
  const changed = new Set(changes.filter(({ direction }) => direction === 'slower').map(({ cellKey }) => cellKey));
  const only = [...ofCell.values()].flatMap((pair) => {
    const cell = cells.find((one) => one.cell.key === pair.cellKey);
    const isNew = cell !== undefined && saidBy(pair).lasts !== null && !changed.has(pair.cellKey);
    return isNew ? changeOfPair(cell, pair, saidBy(pair)) : [];
  });
  return [...weighed, ...only];
}

function saidBy(pairs: PairResult): Pick<CellChange, 'isBuildLuck' | 'lasts' | 'pairs'> {
  const isBuildLuck = pairs.outcome === 'buildLuck';
  return { pairs, isBuildLuck, lasts: isBuildLuck || pairs.outcome === 'confirmed' ? 'pairs' : null };
}

/** Whether the history of the clearest cell shows that a finding lasts. */
function withHistory(finding: Finding, { cells, sweeps }: SweepEvidence): Finding {
  const { cells: changes, direction, firstBadSweepId, lasts, state } = finding;
  if (state !== 'open' || lasts !== null) return finding;
  const [clearest] = changes.toSorted((a, b) => b.margin - a.margin);
  const ofCell = cells.find(({ cell }) => cell.key === clearest?.cellKey);
  const history = ofCell?.metrics.find(({ metric }) => metric === clearest?.metric)?.history;
  if (history === undefined || clearest === undefined || isSteady(clearest.metric)) return finding;
  const night = sweeps.findIndex(({ sweepId }) => sweepId === firstBadSweepId);
  const { betterIs } = gatedMetricOf(clearest.metric);
  const isSeen = lastingChanges(history, sweeps.length - 1).some(
    (change) => isSame(change, { night }) && directionOf(change.shift, betterIs) === direction,
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
        one.cells.some((cell) => cellIn(earlier, cell)),
    );
    if (same !== undefined)
      after.set(same, { ...same, findingId: earlier.findingId, owner: earlier.owner ?? same.owner });
    return same === undefined && acknowledged.has(earlier.findingId);
  });
  const isMeasured = (finding: Finding): boolean =>
    all.some(({ cell: { key: cellKey }, metrics }) =>
      metrics.some(
        ({ history, metric }) => history.nights.at(-1) === sweeps.length - 1 && cellIn(finding, { cellKey, metric }),
      ),
    );
  const kept = lost.map((one): Finding => {
    const lastBadSweepId = one.lastBadSweepId ?? one.firstBadSweepId;
    return isMeasured(one) ? { ...one, state: 'recovered', lastBadSweepId } : one;
  });
  return [...after.values(), ...kept];
}
