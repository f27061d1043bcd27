import type { Finding } from '../../records/finding.ts';
import { type GatedMetricId, gatedMetricOf, isBoundShare } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import { isShownByThroughput } from '../../records/verdict.ts';
import { median } from '../../statistics/order-statistics.ts';
import { directionOf, isSame, lastingChanges } from '../history/lasting-changes.ts';
import { type CellHistory, isBuildLuck } from '../history/noise.ts';
import type { SweepEvidence } from './evidence.ts';
import { judgedCell, judgedFacts, meanChange } from './judged-facts.ts';
import type { JudgedFacts, Measured, MetricState } from './judged-facts.ts';
import { limitFindings } from './limit-findings.ts';
import { cellChange, cellIn, isMostlyLeft, isSteady, marginBetween, MARGINS, sizeOf } from './metric-changes.ts';
import type { About, CellChange } from './metric-changes.ts';
import { reduceFindings } from './reduce-findings.ts';

export type SweepVerdict = ReturnType<typeof judgeSweep>;

/** Judges the newest sweep, and gives earlier findings their new state. */
export function judgeSweep(evidence: SweepEvidence) {
  const { acknowledged, cells, rules } = evidence;
  const facts = judgedFacts(evidence);
  const { judged } = facts;
  const noisy = facts.all.flatMap((one) => changesOf(one, facts));
  const steady = facts.all.flatMap((one) => steadyChanges(one, facts));
  const changes = [...noisy, ...pairedChanges(noisy, facts), ...steady].filter(
    (change) => Math.abs(change.changePercent) >= rules.minChangeOf(change.cellKey, change.metric),
  );
  const reduced = reduceFindings(changes, facts).map((one) => withHistory(one, facts));
  const findings = withEarlierIds([...reduced, ...limitFindings(facts)], facts);
  const mains = facts.all.filter(({ isOwn }) => isOwn);
  const judgedOf = (about: About) => judgedCell(about, facts, findings);
  const own = mains.flatMap((one) => judgedOf(one) ?? []);
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
    geometricMean: meanChange(own, (cell) => facts.measured(cell)?.newest?.commonSd ?? 0),
    measured: facts.measured,
    judgedOf,
    judgedIn: (metric: GatedMetricId) => cells.flatMap(({ cell }) => judgedOf({ cellKey: cell.key, metric }) ?? []),
    candidates: candidatesOf(facts, findings),
  };
}

/** A cell off its reference by this many standard errors without a finding is reported in a later sweep, too. */
const UNREPORTED_ERRORS = 5;

function changesOf({ cellKey, history, metric, newest, of, state: now }: Measured, facts: JudgedFacts): CellChange[] {
  const about = { cellKey, metric };
  const state = now ?? (of.isLeftOut === true ? newest : null);
  if (state === null || state.verdict === 'same' || state.verdict === 'unclear') return [];
  const { change, reported, verdict } = state;
  // A step towards the reference is not a new finding: the earlier finding ends or continues.
  const isStep = reported !== null && Math.sign(reported.change.log) === Math.sign(change.log);
  const reports = facts.known.filter(
    (one) => one.direction === verdict && cellIn(one, about) !== undefined && !facts.isOfOtherMachine(one, about),
  );
  const isKnown = reports.some((one) => one.state === 'open');
  // Of a cell that a filter left out, only a slow-down that was never reported is new.
  const isSaid = reports.some(({ reportedSweepId }) => facts.placeOf(reportedSweepId) >= state.place);
  if (now === null && (isSaid || verdict === 'faster')) return [];
  if (!isStep && (isKnown || Math.abs(change.log) < UNREPORTED_ERRORS * change.error)) return [];
  const step = isKnown ? reported : null;
  const place = step?.first ?? state.since;
  const size = sizeOf(metric, beforeStep(state, metric, step), (step ?? state).change);
  const index = history.places.indexOf(place);
  const lastGood = lastGoodBefore(index, history, { ...size, metric });
  const pairs = (verdict === 'slower' && facts.evidence.pairs?.find((one) => one.cellKey === cellKey)) || null;
  return [cellChange({ ...about, ...size, place, lastGood, pairs, isBuildLuck: isBuildLuck(history, index) })];
}

/** The level from which a reported step began; without one, the reference. */
function beforeStep({ before, now }: MetricState, metric: GatedMetricId, step: MetricState['reported']): number {
  return step === null ? before : now / (1 + sizeOf(metric, now, step.change).changePercent / 100);
}

/** The place of the last value before an index that was not at the new level, as an excursion is. */
function lastGoodBefore(index: number, { places, values }: CellHistory, change: Parameters<typeof isMostlyLeft>[0]) {
  return places.findLast((_, at) => at < index && !isMostlyLeft(change, values[at] ?? change.before)) ?? null;
}

/** Range of the last sweeps, or of the first half of a level's first sweeps if that is lower: a drift does not raise it. */
const REFERENCE_SWEEPS = 20;
const LEAST_REFERENCE = 3;
const BOUND = {
  /** The cell never had this bottleneck in this many sweeps before. */
  calmSweeps: 10,
  /** A change needs the bottleneck in every run of `sweeps` sweeps, or in some runs of each of `mostSweeps` sweeps. */
  sweeps: 2,
  mostSweeps: 4,
} as const;

/** Changes in the judged sweep of a metric that hardly varies. */
function steadyChanges({ baseline: given, cellKey, history, metric, value: now }: Measured, facts: JudgedFacts) {
  // Most sizes are constant.
  if (now === null || !isSteady(metric) || history.values.every((value) => value === now)) return [];
  const entries = history.places.map((place, index) => ({ place, value: history.values[index] ?? 0 }));
  const baseline = entries[given];
  if (isBoundShare(metric)) return boundChanges({ cellKey, metric }, entries, baseline);
  const whole = { before: baseline?.value ?? 0, after: now, metric };
  let isAgainst = baseline !== undefined;
  // The values since a reported change began are expected; if it is over or ends now, those before or without it.
  let past = entries.slice(0, -1);
  for (const finding of facts.known) {
    const change = cellIn(finding, { cellKey, metric });
    if (change === undefined) continue;
    const isRecovered = finding.state === 'recovered';
    if (!isRecovered && isMostlyLeft(whole, change.after) && !isMostlyLeft(whole, change.before)) isAgainst = false;
    const begin = facts.placeOf(finding.firstBadSweepId);
    const isOver = isRecovered || !isMostlyLeft(change, now);
    const isPast = ({ place, value }: Entry): boolean =>
      isOver ? place < begin || !isMostlyLeft(change, value) : place >= begin;
    if (begin >= 0) past = past.filter(isPast);
  }
  if (isAgainst && baseline !== undefined) past = [baseline];
  const last = past.at(-1);
  if (last === undefined) return [];
  const { leastPast = 1, youngMargins = Infinity } = MARGINS[metric] ?? {};
  const isYoung = !isAgainst && past.length < leastPast;
  const half = Math.ceil(Math.min(past.length, REFERENCE_SWEEPS) / 2);
  const parts = [past.slice(-REFERENCE_SWEEPS), past.slice(0, Math.max(LEAST_REFERENCE, half))];
  const [recent = [], begin = []] = parts.map((part) => part.map(({ value }) => value));
  const lower = Math.max(...begin) < Math.max(...recent) ? begin : recent;
  const isMore = now > Math.max(...lower);
  const values = isMore ? lower : recent;
  const edge = isMore ? Math.max(...values) : Math.min(...values);
  const margin = marginBetween(metric, edge, now);
  // An improvement of a metric that only warns is not reported.
  if (!(margin > (isYoung ? youngMargins : 1)) || (!isMore && (now > edge || metric === 'buildS'))) return [];
  const change = { cellKey, metric, before: median(values) ?? edge, after: now };
  const good = entries.findLast(({ value }) => !isMostlyLeft(change, value)) ?? last;
  const place = entries.find((entry) => entry.place > good.place)?.place ?? facts.judged;
  return [cellChange({ ...change, place, lastGood: good.place, lasts: 'measured', margin })];
}

type Entry = { readonly place: number; readonly value: number };

/** A bottleneck that changed from no run of the last sweeps to every run of the newest ones, or to some of each. */
function boundChanges(about: About, entries: readonly Entry[], baseline: Entry | undefined): CellChange[] {
  for (let count: number = BOUND.sweeps; count <= BOUND.mostSweeps; count += 1) {
    const past = entries.slice(-count - BOUND.calmSweeps, -count);
    const [before, now] = [baseline === undefined ? past : [baseline], entries.slice(-count)];
    const [first, last] = [now[0], before.at(-1)];
    if (first === undefined || last === undefined || before.some(({ value }) => value > 0)) continue;
    const values = now.map(({ value }) => value);
    if (!values.every((value) => value >= 100 || (count === BOUND.mostSweeps && value > 0))) continue;
    const levels = { before: 0, after: median(values) ?? 100 };
    return [cellChange({ ...about, ...levels, place: first.place, lastGood: last.place, lasts: 'history' })];
  }
  return [];
}

/** Changes that only pairs show. */
function pairedChanges(noisy: readonly CellChange[], facts: JudgedFacts): CellChange[] {
  const slower = new Set(noisy.filter(({ direction }) => direction === 'slower').map(({ cellKey }) => cellKey));
  return (facts.evidence.pairs ?? []).flatMap((pairs) => {
    const { places = [], values } = facts.measured(pairs)?.history ?? {};
    const [after, place] = [values?.at(-1), places.at(-1)];
    if (slower.has(pairs.cellKey) || after === undefined || place === undefined) return [];
    const { cellKey, changePercent, metric } = pairs;
    const before = after / (1 + changePercent / 100);
    const change = cellChange({ cellKey, metric, before, after, place, lastGood: places.at(-2) ?? null, pairs });
    return change.lasts === null ? [] : [change];
  });
}

/** Marks a finding as lasting if the history of its clearest cell shows that. */
function withHistory(finding: Finding, facts: JudgedFacts): Finding {
  const { cells, direction, firstBadSweepId, lasts, state } = finding;
  const [clearest] = cells.toSorted((a, b) => b.margin - a.margin);
  const history = clearest && facts.measured(clearest)?.history;
  if (state !== 'open' || lasts !== null || !clearest || !history || isSteady(clearest.metric)) return finding;
  const place = facts.placeOf(firstBadSweepId);
  const { betterIs } = gatedMetricOf(clearest.metric);
  const isSeen = lastingChanges(history, facts.judged).some(
    (change) => isSame(change, { place }) && directionOf(change.shift, betterIs) === direction,
  );
  return isSeen ? { ...finding, lasts: 'history' } : finding;
}

/** Gives findings of this judgment the IDs that an earlier judgment of the same sweep reported for the same cells. */
function withEarlierIds(found: readonly Finding[], facts: JudgedFacts): Finding[] {
  const { acknowledged, findings } = facts.evidence;
  const { sweepId: judged } = facts.sweep;
  const after = new Map(found.map((one) => [one, one]));
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
    if (earlier.cells.every((cell) => (facts.measured(cell)?.value ?? null) === null)) return [earlier];
    return [{ ...earlier, state: 'recovered', lastBadSweepId: earlier.lastBadSweepId ?? earlier.firstBadSweepId }];
  });
  return [...after.values(), ...lost];
}

/** Number of cells measured in pairs first for a whole group: those with the least variation. */
const CALMEST = 3;
/** Least number of standard errors off the reference that is worth measuring in pairs. */
const LEAST_DEVIATIONS = 3;

/**
 * Cells that are worse than their reference, by their clearest metric; groups by their calmest cells. What is new
 * comes first.
 */
function candidatesOf(facts: JudgedFacts, findings: readonly Finding[]): readonly Candidate[] {
  const open = findings.filter(({ direction, state }) => state === 'open' && direction === 'slower');
  const byFresh = Map.groupBy(open, ({ reportedSweepId }) => reportedSweepId === facts.sweep.sweepId);
  const [fresh, earlier] = [cellKeysOf(byFresh.get(true)), byFresh.get(false) ?? []];
  const known = cellKeysOf(earlier);
  const explained = cellKeysOf(earlier.filter(({ lasts, pairs }) => lasts !== null || pairs !== null));
  const suspects = facts.all.filter(({ cellKey }) => fresh.has(cellKey) || !explained.has(cellKey));
  const ofCell = new Map<string, Candidate>();
  const worse = suspects.flatMap((measured) => candidateOf(measured, facts) ?? []);
  for (const one of worse.toSorted((a, b) => b.deviations - a.deviations))
    for (const key of one.cellKeys) if (!ofCell.has(key)) ofCell.set(key, one);
  const groups = open.flatMap((finding): Candidate[] => {
    const keys = finding.group.length > 0 ? [...cellKeysOf([finding])] : [];
    const noiseOf = ({ changePercent, deviations }: Candidate): number => Math.abs(changePercent) / deviations;
    const own = keys.flatMap((key) => ofCell.get(key) ?? []).toSorted((a, b) => noiseOf(a) - noiseOf(b));
    const calmest = own.slice(0, CALMEST);
    const cellKeys = calmest.flatMap((one) => one.cellKeys);
    for (const key of cellKeys) ofCell.delete(key);
    const isUnsteady = calmest.some((one) => one.isUnsteady);
    return calmest.slice(0, 1).map((first) => ({ ...first, cellKeys, isUnsteady }));
  });
  const isKnown = ({ cellKeys }: Candidate): boolean => cellKeys.every((key) => known.has(key) && !fresh.has(key));
  const all = [...groups.toSorted((a, b) => b.deviations - a.deviations), ...ofCell.values()];
  return all.toSorted((a, b) => Number(isKnown(a)) - Number(isKnown(b)));
}

export function cellKeysOf(findings: readonly Finding[] = []): Set<string> {
  return new Set(findings.flatMap(({ cells }) => cells.map(({ cellKey }) => cellKey)));
}

/** A cell or group that is worse than its reference, so that pairs with the last good engine are worthwhile. */
export type Candidate = NonNullable<ReturnType<typeof candidateOf>>;

function candidateOf({ cellKey, history, metric, state }: Measured, facts: JudgedFacts) {
  if (state === null) return null;
  const { change, farRuns, levels, reported, since, verdict } = state;
  const deviations = change.error > 0 ? change.log / change.error : 0;
  const isSlower = verdict === 'slower' || reported?.direction === 'slower';
  if (change.log <= 0 || !(isSlower || deviations >= LEAST_DEVIATIONS || farRuns > 0)) return null;
  const { builds = [], places, sources = [] } = history;
  const step = { metric, before: beforeStep(state, metric, reported), after: state.now };
  const lastGood = lastGoodBefore(places.indexOf(reported?.first ?? since), history, step);
  // If builds of the same sources differed before, their tactics may differ again.
  const source = sources.at(-1) ?? null;
  const same = builds.slice(0, -1).filter((_, place) => source !== null && sources[place] === source);
  /** The cell, or the three calmest cells of the group. */
  const cellKeys: readonly CellKey[] = [cellKey];
  return {
    cellKeys,
    metric,
    changePercent: sizeOf(metric, state.before, change).changePercent,
    deviations: Math.max(LEAST_DEVIATIONS, deviations),
    lastGoodSweepId: facts.evidence.sweeps[lastGood ?? -1]?.sweepId ?? null,
    /** Two known levels, or different builds of the same sources: seven of eight pairs must agree. */
    isUnsteady: levels !== null || new Set(same).size > 1,
  };
}
