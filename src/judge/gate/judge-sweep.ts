import type { Finding } from '../../records/finding.ts';
import { gatedMetricOf } from '../../records/gated-metric.ts';
import { isShownByThroughput } from '../../records/verdict.ts';
import { directionOf, isSame, lastingChanges } from '../history/lasting-changes.ts';
import { isBuildLuck } from '../history/noise.ts';
import type { MetricHistory, SweepEvidence, Candidate } from './evidence.ts';
import { judgedCell, JudgedFacts, meanChange } from './judged-facts.ts';
import { limitFindings } from './limit-findings.ts';
import { cellChange, cellIn, rawChange, sizeOf, isSteady, steadyChanges } from './metric-changes.ts';
import type { About, CellChange } from './metric-changes.ts';
import { reduceFindings } from './reduce-findings.ts';

export type SweepVerdict = ReturnType<typeof judgeSweep>;

/** Judges the newest sweep, and gives earlier findings their new state. */
export function judgeSweep(evidence: SweepEvidence) {
  const { acknowledged, cells, rules } = evidence;
  const facts = new JudgedFacts(evidence);
  const { judged } = facts;
  const changesBy = (rule: typeof changesOf): CellChange[] =>
    cells.flatMap(({ cell, metrics }) => metrics.flatMap((one) => rule(cell.key, one, facts)));
  const changes = [...withPairs(changesBy(changesOf), facts), ...changesBy(steadyChanges)].filter(
    (change) => Math.abs(change.changePercent) >= rules.minChangeOf(change.cellKey, change.metric),
  );
  const reduced = reduceFindings(changes, facts).map((one) => withHistory(one, facts));
  const findings = withEarlierIds([...reduced, ...limitFindings(facts)], facts);
  const mains = cells.flatMap(({ cell, metrics: [main] }) =>
    main === undefined ? [] : [{ cellKey: cell.key, ...main }],
  );
  const judgedOf = (about: About) => judgedCell(about, facts, findings);
  const own = mains.flatMap(({ cellKey, metric }) => judgedOf({ cellKey, metric }) ?? []);
  const shown = own.map((cell) => {
    const other = cell.metric === 'gpuComputeMs' ? judgedOf({ ...cell, metric: 'throughputQps' }) : null;
    return other?.reason === null && isShownByThroughput(cell.verdict, other.verdict) ? other : cell;
  });
  const isFirst = judged === 0 || (mains.length > 0 && mains.every(({ history }) => history.places[0] === judged));
  return {
    judgedBy: isFirst ? ('first' as const) : ('reference' as const),
    /** Every known finding in its state after this sweep, and the new ones, whose `reportedSweepId` is this sweep. */
    findings,
    endedAcknowledgements: [...acknowledged].flatMap(([id, { isOver }]) => (isOver ? [id] : [])),
    cells: shown,
    geometricMean: meanChange(own, cells),
    judgedOf,
    candidates: candidatesOf(facts, findings),
  };
}

/** A cell off its reference by this many standard errors without a finding is reported in a later sweep, too. */
const UNREPORTED_ERRORS = 5;

function changesOf(cellKey: string, { history, metric }: MetricHistory, facts: JudgedFacts): CellChange[] {
  const about = { cellKey, metric };
  const now = facts.stateOf(about);
  const state = now ?? (facts.measured(about)?.of.isLeftOut === true ? facts.newestOf(about) : null);
  if (state === null || state.verdict === 'same' || state.verdict === 'unclear') return [];
  const { change, reported, verdict } = state;
  // A step towards the reference is not a new finding: the earlier finding ends or continues.
  const isStep = reported !== null && Math.sign(reported.change.log) === Math.sign(change.log);
  const reports = facts.known.filter((one) => one.direction === verdict && cellIn(one, about) !== undefined);
  const isKnown = reports.some((one) => one.state === 'open');
  // Of a cell that a filter left out, only a slow-down that was never reported is new.
  const isSaid = reports.some(({ reportedSweepId }) => facts.placeOf(reportedSweepId) >= state.place);
  if (now === null && (isSaid || verdict === 'faster')) return [];
  if (!isStep && (isKnown || Math.abs(change.log) < UNREPORTED_ERRORS * change.error)) return [];
  const step = isKnown ? reported : null;
  const place = step?.first ?? state.since;
  const before =
    step === null ? state.before : state.now / (1 + rawChange(metric, step.change.log, 0).changePercent / 100);
  const size = sizeOf(metric, before, (step ?? state).change);
  const index = history.places.indexOf(place);
  const lastGood = history.places[index - 1] ?? null;
  return [cellChange({ ...about, ...size, place, lastGood, isBuildLuck: isBuildLuck(history, index) })];
}

function withPairs(changes: readonly CellChange[], facts: JudgedFacts): CellChange[] {
  const ofCell = new Map(
    (facts.evidence.pairs ?? []).map((pairs) => {
      const isLuck = pairs.outcome === 'buildLuck';
      const lasts = isLuck || pairs.outcome === 'confirmed' ? ('pairs' as const) : null;
      return [pairs.cellKey, { pairs, isBuildLuck: isLuck, lasts }] as const;
    }),
  );
  const weighed = changes.map((change): CellChange => {
    const said = ofCell.get(change.cellKey);
    if (said === undefined || change.direction === 'faster') return change;
    return { ...change, ...said, isBuildLuck: change.isBuildLuck || said.isBuildLuck };
  });
  const slower = new Set(changes.filter(({ direction }) => direction === 'slower').map(({ cellKey }) => cellKey));
  const only = [...ofCell].flatMap(([cellKey, said]) => {
    const { changePercent, metric } = said.pairs;
    const { places = [], values } = facts.measured({ cellKey, metric })?.history ?? {};
    const [after, place] = [values?.at(-1), places.at(-1)];
    if (said.lasts === null || slower.has(cellKey) || after === undefined || place === undefined) return [];
    const before = after / (1 + changePercent / 100);
    return [cellChange({ cellKey, metric, before, after, place, lastGood: places.at(-2) ?? null, ...said })];
  });
  return [...weighed, ...only];
}

/** Marks a finding as lasting if the history of its clearest cell shows that. */
function withHistory(finding: Finding, facts: JudgedFacts): Finding {
  const { cells, direction, firstBadSweepId, lasts, state } = finding;
  const [clearest] = cells.toSorted((a, b) => b.margin - a.margin);
  if (state !== 'open' || lasts !== null || clearest === undefined || isSteady(clearest.metric)) return finding;
  const history = facts.measured(clearest)?.history;
  if (history === undefined) return finding;
  const place = facts.placeOf(firstBadSweepId);
  const { betterIs } = gatedMetricOf(clearest.metric);
  const isSeen = lastingChanges(history, facts.judged).some(
    (change) => isSame(change, { place }) && directionOf(change.shift, betterIs) === direction,
  );
  return isSeen ? { ...finding, lasts: 'history' } : finding;
}

/** Gives findings of this judgment the IDs that an earlier judgment of the same sweep reported for the same cells. */
function withEarlierIds(found: readonly Finding[], facts: JudgedFacts): Finding[] {
  const { acknowledged, findings, sweeps } = facts.evidence;
  const judged = sweeps[facts.judged]?.sweepId;
  const after = new Map(found.map((one) => [one, one]));
  const isMeasured = (about: About): boolean => facts.measured(about)?.history.places.at(-1) === facts.judged;
  const lost = findings.flatMap((earlier): Finding[] => {
    if (earlier.reportedSweepId !== judged) return [];
    const same = found.find(
      (one) =>
        one.reportedSweepId === judged &&
        one.direction === earlier.direction &&
        one.kind === earlier.kind &&
        after.get(one) === one &&
        one.cells.some((cell) => cellIn(earlier, cell) !== undefined),
    );
    if (same !== undefined)
      after.set(same, { ...same, findingId: earlier.findingId, owner: earlier.owner ?? same.owner });
    if (same !== undefined || !acknowledged.has(earlier.findingId)) return [];
    if (!earlier.cells.some(isMeasured)) return [earlier];
    return [{ ...earlier, state: 'recovered', lastBadSweepId: earlier.lastBadSweepId ?? earlier.firstBadSweepId }];
  });
  return [...after.values(), ...lost];
}

/** Number of cells measured in pairs for a whole group: those with the least variation. */
const CALMEST = 3;
/** Least number of standard errors off the reference that is worth measuring in pairs. */
const LEAST_DEVIATIONS = 3;

/**
 * Cells that are worse than their reference, by their clearest metric; groups by their calmest cells. What is new
 * comes first.
 */
function candidatesOf(facts: JudgedFacts, findings: readonly Finding[]): readonly Candidate[] {
  const { cells, sweeps } = facts.evidence;
  const judged = sweeps[facts.judged]?.sweepId;
  const open = findings.filter(({ direction, state }) => state === 'open' && direction === 'slower');
  const earlier = open.filter(({ reportedSweepId }) => reportedSweepId !== judged);
  const explaining = earlier.filter(({ lasts, pairs }) => lasts !== null || pairs !== null);
  const fresh = cellsOf(open.filter(({ reportedSweepId }) => reportedSweepId === judged));
  const [known, explained] = [cellsOf(earlier), cellsOf(explaining)];
  const suspects = cells.filter(({ cell: { key } }) => fresh.has(key) || !explained.has(key));
  const ofCell = new Map(
    suspects.flatMap(({ cell: { key }, metrics }): [string, Candidate][] => {
      const [clearest] = metrics.flatMap((one) => candidateOf(key, one, facts)).toSorted(byDeviations);
      return clearest === undefined ? [] : [[key, clearest]];
    }),
  );
  const groups = open.flatMap(({ cells: moved, group }): Candidate[] => {
    const keys = group.length === 0 ? [] : [...new Set(moved.map(({ cellKey }) => cellKey))];
    const own = keys.flatMap((key) => ofCell.get(key) ?? []);
    for (const key of keys) ofCell.delete(key);
    const calmest = own.toSorted((a, b) => noiseOf(a) - noiseOf(b)).slice(0, CALMEST);
    const cellKeys = calmest.flatMap((one) => one.cellKeys);
    const isUnsteady = calmest.some((one) => one.isUnsteady);
    return calmest.slice(0, 1).map((first) => ({ ...first, cellKeys, isUnsteady }));
  });
  const isKnown = ({ cellKeys }: Candidate): boolean => cellKeys.every((key) => known.has(key) && !fresh.has(key));
  return [...groups.toSorted(byDeviations), ...[...ofCell.values()].toSorted(byDeviations)].toSorted(
    (a, b) => Number(isKnown(a)) - Number(isKnown(b)),
  );
}

function cellsOf(findings: readonly Finding[]): Set<string> {
  return new Set(findings.flatMap(({ cells }) => cells.map(({ cellKey }) => cellKey)));
}

function byDeviations(a: Candidate, b: Candidate): number {
  return b.deviations - a.deviations;
}

function noiseOf({ changePercent, deviations }: Candidate): number {
  return Math.abs(changePercent) / deviations;
}

function candidateOf(cellKey: string, { history, metric }: MetricHistory, facts: JudgedFacts): Candidate[] {
  const state = facts.stateOf({ cellKey, metric });
  if (state === null) return [];
  const { change, farRuns, levels, reported, since, verdict } = state;
  const deviations = change.error > 0 ? change.log / change.error : 0;
  const isOff = verdict === 'slower' || deviations >= LEAST_DEVIATIONS || farRuns > 0;
  if (change.log <= 0 || !(isOff || reported?.direction === 'slower')) return [];
  const { builds = [], places, sources = [] } = history;
  const lastGood = places[places.indexOf(reported?.first ?? since) - 1];
  // If builds of the same sources differed before, their tactics may differ again.
  const source = sources.at(-1) ?? null;
  const same = builds.slice(0, -1).filter((_, place) => source !== null && sources[place] === source);
  return [
    {
      cellKeys: [cellKey],
      metric,
      changePercent: rawChange(metric, change.log, 0).changePercent,
      deviations: Math.max(LEAST_DEVIATIONS, deviations),
      lastGoodSweepId: facts.evidence.sweeps[lastGood ?? -1]?.sweepId ?? null,
      isUnsteady: levels !== null || new Set(same).size > 1,
    },
  ];
}
