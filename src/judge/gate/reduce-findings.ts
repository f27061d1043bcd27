import type { Finding } from '../../records/finding.ts';
import { type GatedMetricId, gatedMetricOf, isBoundShare } from '../../records/gated-metric.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { environmentDifferences } from '../compare/differences.ts';
import { ALL_CELLS } from './cell-words.ts';
import type { CellEvidence, SweepEvidence } from './evidence.ts';
import type { JudgedFacts } from './judged-facts.ts';
import { cellIn, isMostlyLeft, sizeOf, marginBetween, type CellChange, type FindingCell } from './metric-changes.ts';

/** Changes of the same cells that begin within this many sweeps have one cause. */
const SAME_CAUSE_SWEEPS = 3;
/** Another time of a cell follows a known change if it changed by up to this many times as much. */
const FOLLOWS = 1.25;
/** Changes of other cells have one cause if they begin within this many sweeps. */
const TOGETHER_SWEEPS = 1;

export function reduceFindings(changes: readonly CellChange[], facts: JudgedFacts): Finding[] {
  const { known } = facts;
  const byFinding = Map.groupBy(changes, (change) => known.find((finding) => covers(finding, change, facts)));
  const fresh = clustersOf(byFinding.get(undefined) ?? []).map((cluster) => newFinding(cluster, facts));
  const open = [...known, ...fresh].filter(({ state }) => state === 'open');
  // A change that returned continues the same finding.
  const earlier = known.filter(({ findingId }) => fresh.every((one) => one.findingId !== findingId));
  return [...earlier.map((finding) => continued(finding, byFinding.get(finding) ?? [], open, facts)), ...fresh];
}

function covers(finding: Finding, change: CellChange, facts: JudgedFacts): boolean {
  if (finding.state === 'recovered' || finding.direction !== change.direction) return false;
  if (facts.isOfOtherMachine(finding, change)) return false;
  const ofCell = finding.cells.filter(({ cellKey }) => cellKey === change.cellKey);
  if (ofCell.length === 0 && !facts.words.hasAll(change.cellKey, finding.group)) return false;
  // A change that this sweep does not report has the place of its earlier report. A bottleneck has no further step.
  const state = facts.measured(change)?.state ?? null;
  const known = cellIn(finding, change);
  const isReported = state === null ? !isBoundShare(change.metric) || known === undefined : state.reported !== null;
  if (!isReported || finding.cause === 'machine') return true;
  const isLike = ({ changePercent, metric }: FindingCell): boolean =>
    familyOf({ metric }) === 'time' && Math.abs(change.changePercent) <= FOLLOWS * Math.abs(changePercent);
  if (known === undefined && familyOf(change) === 'time' && ofCell.some(isLike)) return true;
  if (Math.abs(facts.placeOf(finding.firstBadSweepId) - change.place) > SAME_CAUSE_SWEEPS) return false;
  // A further step starts from the level of the known change; one that starts from the reference is that change itself.
  if (known !== undefined) return !isMostlyLeft(known, change.before);
  // What begins after the report is another change, unless a cell of the group follows by as much.
  const isBefore = change.place <= facts.placeOf(finding.reportedSweepId);
  return isBefore || (ofCell.length === 0 && finding.cells.some(isLike));
}

function continued(
  finding: Finding,
  attached: readonly CellChange[],
  open: readonly Finding[],
  facts: JudgedFacts,
): Finding {
  const { cause, direction, findingId, lasts } = finding;
  const { accepted, evidence, judged } = facts;
  if (finding.state === 'recovered') return finding;
  const otherOpenOf = (cell: FindingCell): Finding[] =>
    open.filter((other) => other !== finding && cellIn(other, cell) !== undefined);
  const isBack = (cell: FindingCell): boolean | null => {
    const one = facts.measured(cell);
    if (one === undefined || facts.isOfOtherMachine(finding, cell)) return null;
    const { baseline, history, newest, of, value } = one;
    // A cell that has no result, or that a filter left out, is as it was, but not on a slow machine or if it was faster.
    const isAsBefore = direction === 'slower' && cause !== 'machine' && (of.isPlanned || of.isLeftOut === true);
    const state = isAsBefore ? newest : one.state;
    if (state === null) {
      const reference = history.values[baseline];
      if (value === null) return null;
      const isAtReference = reference !== undefined && marginBetween(cell.metric, reference, value) <= 1;
      return isAtReference || !isMostlyLeft(cell, value);
    }
    if (state.verdict === 'unclear') return null;
    // After an acknowledgement the cell is at its reference, and so it may be if only pairs show the change. Such a
    // finding stays open until the level before returns.
    const isByLevel = accepted.has(findingId) || lasts === 'pairs';
    if (!isByLevel && state.verdict !== direction) return true;
    // Of several steps the later ones end first. The first one ends with the verdict, so that no row contradicts it.
    const reported = facts.placeOf(finding.reportedSweepId);
    const isEarlier = (other: Finding): boolean =>
      other.direction === direction && facts.placeOf(other.reportedSweepId) < reported;
    const isFirst = !otherOpenOf(cell).some(isEarlier);
    return (isByLevel || !isFirst) && !isMostlyLeft(cell, state.now);
  };
  // If a cell changed in its own metric, that metric decides, because the others vary more.
  const isOwn = (cell: FindingCell): boolean => facts.measured(cell)?.isOwn === true;
  const inOwn = new Set(finding.cells.filter(isOwn).map(({ cellKey }) => cellKey));
  const standing = finding.cells.filter((cell) => !inOwn.has(cell.cellKey) || isOwn(cell)).map(isBack);
  if (attached.length === 0 && standing.includes(true) && !standing.includes(false)) {
    const first = facts.placeOf(finding.firstBadSweepId);
    const badPlaces = finding.cells.map((cell) => {
      const { places = [], values } = facts.measured(cell)?.history ?? {};
      const isBad = (place: number, index: number): boolean =>
        place < judged && place >= first && isMostlyLeft(cell, values?.[index] ?? cell.before);
      return places.findLast(isBad) ?? -1;
    });
    const last = Math.max(first, facts.placeOf(finding.lastBadSweepId), ...badPlaces);
    const lastBadSweepId = evidence.sweeps[last]?.sweepId ?? finding.firstBadSweepId;
    return { ...finding, state: 'recovered', lastBadSweepId };
  }
  const isMachine = cause === 'machine' && (attached.length > 0 || standing.includes(false));
  // The size of a change is its newest estimate. If a cell has several open findings, each keeps its step.
  const updated = finding.cells.map((cell) => {
    const state = facts.measured(cell)?.state ?? null;
    if (otherOpenOf(cell).length > 0 || accepted.has(findingId) || state === null || state.verdict !== direction)
      return cell;
    return { ...cell, ...sizeOf(cell.metric, state.before, state.change) };
  });
  const added = attached.filter((change) => cellIn(finding, change) === undefined).map(findingCellOf);
  return {
    ...finding,
    lasts: lasts ?? (attached.some((change) => change.lasts === 'pairs') ? 'pairs' : null),
    lastBadSweepId: isMachine ? facts.sweep.sweepId : finding.lastBadSweepId,
    cells: [...updated, ...added],
  };
}

function findingCellOf(change: CellChange): FindingCell {
  const { after, before, cellKey, changePercent, ciPercent, margin, metric } = change;
  return { after, before, cellKey, changePercent, ciPercent, margin, metric };
}

/** Of metrics that are neither a time nor in MiB. */
const FAMILIES: Readonly<Partial<Record<GatedMetricId, string>>> = {
  precisionSharePercent: 'precision',
  sqnrDb: 'accuracy',
  outputErrorPercent: 'accuracy',
  buildS: 'build',
};

function familyOf({ metric }: Pick<FindingCell, 'metric'>): string {
  if (isBoundShare(metric)) return metric;
  return gatedMetricOf(metric).unit === 'MiB' ? 'memory' : (FAMILIES[metric] ?? 'time');
}

/** Groups changes of one direction and begin that likely have one cause: one family of metrics, or common cells. */
function clustersOf(changes: readonly CellChange[]): readonly (readonly CellChange[])[] {
  const same = Map.groupBy(changes, (change) => `${change.direction} ${outcomeOf(change)}`);
  return [...same.values()].flatMap((own) => {
    const sorted = own.toSorted((a, b) => a.place - b.place);
    let begin = -Infinity;
    const byBegin = Map.groupBy(sorted, ({ place }) => {
      if (place - begin > TOGETHER_SWEEPS) begin = place;
      return begin;
    });
    return [...byBegin.values()].flatMap(connected);
  });
}

function connected(changes: readonly CellChange[]): readonly (readonly CellChange[])[] {
  let parts: (readonly CellChange[])[] = [];
  for (const change of changes) {
    const joined = parts.filter((part) =>
      part.some((other) => other.cellKey === change.cellKey || familyOf(other) === familyOf(change)),
    );
    const whole = [...joined.flat(), change];
    parts = parts.flatMap((part) => (part === joined[0] ? [whole] : joined.includes(part) ? [] : [part]));
    if (joined.length === 0) parts.push(whole);
  }
  return parts;
}

function outcomeOf({ pairs }: CellChange): string {
  return pairs?.outcome === 'machine' || pairs?.outcome === 'cleared' ? pairs.outcome : '';
}

export function newFinding(cluster: readonly CellChange[], { evidence, sweep, words }: JudgedFacts): Finding {
  const { rules, sweeps } = evidence;
  const changes = cluster.toSorted((a, b) => b.margin - a.margin);
  const [clearest] = changes;
  const firstBad = sweeps[clearest?.place ?? -1];
  if (firstBad === undefined || clearest === undefined) throw new Error('a change outside the sweeps');
  const keys = [...new Set(changes.map(({ cellKey }) => cellKey))];
  const group = words.sharedBy(new Set(keys));
  const { branch, matrix, provenance } = sweep;
  const { direction, lastGood } = clearest;
  const outcome = outcomeOf(clearest);
  const own = lastGood === null ? [] : evidence.cells.filter(({ cell }) => keys.includes(cell.key));
  const [ofFirst = [], ...others] = own.map((cell) => machineChanges(evidence, cell, [lastGood ?? -1, clearest.place]));
  const recorded = ofFirst.filter((change) => others.every((ofCell) => ofCell.includes(change)));
  const isBuildLuck = changes.every((change) => change.isBuildLuck);
  const causeOf = (): Finding['cause'] => {
    if (isBuildLuck) return 'buildLuck';
    if (recorded.some((change) => change.startsWith('TensorRT '))) return 'version';
    // A recorded change of the machine is the cause of a slow machine.
    if (outcome === 'machine') return recorded.length > 0 ? 'environment' : 'machine';
    if (group.includes(ALL_CELLS) && recorded.length > 0) return 'environment';
    return changes.some(({ lasts }) => lasts === 'pairs') ? 'engine' : null;
  };
  const about = { provenance, branch, matrix, direction, firstBadSweepId: firstBad.sweepId };
  return {
    ...about,
    findingId: hashOf({ finding: { ...about, cells: (group.length > 0 ? group : keys).toSorted() } }),
    kind: 'change',
    isWarning: isBuildLuck || changes.every(({ cellKey, metric }) => rules.isWarning(cellKey, metric)),
    state: outcome === 'cleared' ? 'recovered' : 'open',
    group,
    lasts: changes.find(({ lasts }) => lasts !== null)?.lasts ?? null,
    cause: causeOf(),
    environmentChanges: recorded,
    pairs: pairsOf(changes),
    lastGoodSweepId: lastGood === null ? null : (sweeps[lastGood]?.sweepId ?? null),
    lastBadSweepId: outcome === '' ? null : sweep.sweepId,
    reportedSweepId: sweep.sweepId,
    owner: rules.ownerOf(keys),
    cells: changes.map(findingCellOf),
  };
}

/** Machine changes of a cell between two sweeps, in words: `driver 580.1 → 580.2`. */
export function machineChanges(evidence: SweepEvidence, cell: CellEvidence, places: readonly number[]): string[] {
  const [before, after] = places.map((place) => evidence.environments.get(cell.environmentIds[place] ?? ''));
  return before === undefined || after === undefined ? [] : environmentDifferences(before, after);
}

/** The pairs of the cell with the largest change. */
function pairsOf(changes: readonly CellChange[]): Finding['pairs'] {
  const all = changes.flatMap(({ pairs }) => pairs ?? []);
  const [largest] = all.toSorted((a, b) => Math.abs(b.changePercent) - Math.abs(a.changePercent));
  if (largest === undefined) return null;
  const { agreeing, changePercent, count, metric, outcome } = largest;
  return { agreeing, changePercent, count, metric, outcome, cells: [...new Set(all.map(({ cellKey }) => cellKey))] };
}
