import type { Finding } from '../../records/finding.ts';
import { isBoundShare } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import type { CellEvidence, MetricHistory } from './evidence.ts';
import {
  type CellChange,
  cellIn,
  type FindingCell,
  isMostlyLeft,
  type JudgedFacts,
  type PlacedFinding,
  sizeOf,
  stateIn,
} from './metric-changes.ts';
import { clusterChanges, findingCellOf, newFinding } from './new-finding.ts';
import { baselineValue, marginBetween } from './steady-metrics.ts';

/** Changes of the same cells that begin within this number of sweeps have one cause. */
const SAME_CAUSE_SWEEPS = 3;

/**
 * Findings after a sweep, from those before it and what changed. A change is part of an open finding of the same cells
 * and direction that began about then, or of one whose cause is the machine; any other is a finding of its own, also a
 * further step of a cell whose finding is open. A finding is over when none of its cells is off its reference, or all
 * lie nearer to the level before.
 */
export function reduceFindings(changes: readonly CellChange[], facts: JudgedFacts): Finding[] {
  const { evidence, known, words } = facts;
  const attached = new Map<PlacedFinding, CellChange[]>();
  const fresh: CellChange[] = [];
  for (const change of changes) {
    const found = known.find((entry) => covers(entry, change, facts));
    if (found === undefined) fresh.push(change);
    else attached.set(found, [...(attached.get(found) ?? []), change]);
  }
  return [
    ...known.map((entry) => continued(entry, attached.get(entry) ?? [], facts)),
    ...clusterChanges(fresh).map((cluster) => newFinding(cluster, evidence, words)),
  ];
}

function covers(
  { finding, place, reportedPlace }: PlacedFinding,
  change: CellChange,
  { evidence, states, words }: JudgedFacts,
): boolean {
  if (finding.state === 'recovered' || finding.direction !== change.direction) return false;
  const isOfCell = finding.cells.some(({ cellKey }) => cellKey === change.cellKey);
  if (!isOfCell && !words.hasAll(change.cellKey, finding.group)) return false;
  // What is not reported in this sweep is where it was reported before; a bottleneck has no further step.
  const state = stateIn(states, change);
  const known = cellIn(finding, change);
  const isReported = state === null ? !isBoundShare(change.metric) || known === undefined : state.reported !== null;
  const isOfSweep = reportedPlace === evidence.sweeps.length - 1;
  if (!isReported || isOfSweep || finding.cause === 'machine') return true;
  // A step on top of the known one begins at its level; one that begins at the reference is the known one, found again.
  const isFurther = known !== undefined && isMostlyLeft(known, change.before);
  return Math.abs(place - change.place) <= SAME_CAUSE_SWEEPS && !isFurther;
}

function continued(
  { finding, place, lastPlace }: PlacedFinding,
  attached: readonly CellChange[],
  { accepted, evidence, known, states }: JudgedFacts,
): Finding {
  const { direction, findingId, lasts } = finding;
  const judged = evidence.sweeps.length - 1;
  if (finding.state === 'recovered') return finding;
  const cells = new Map(evidence.cells.map((cell) => [cell.cell.key, cell]));
  const measuredOf = ({ cellKey, metric }: FindingCell): MetricHistory | undefined =>
    cells.get(cellKey)?.metrics.find((measured) => measured.metric === metric);
  /** Null where the judged sweep says nothing of it. */
  const isBack = (cell: FindingCell): boolean | null => {
    const state = stateIn(states, cell);
    if (state === null) {
      const measured = measuredOf(cell);
      const value = measured?.history.values.at(-1);
      if (measured === undefined || value === undefined || measured.history.nights.at(-1) !== judged) return null;
      const baseline = baselineValue(measured, evidence);
      return (baseline !== undefined && marginBetween(cell.metric, baseline, value) <= 1) || !isMostlyLeft(cell, value);
    }
    if (state.verdict === 'unclear') return null;
    // What is acknowledged is at its reference, and what only pairs show may be: both go on until the level before is back.
    const isByLevel = accepted.has(findingId) || lasts === 'pairs';
    return (!isByLevel && state.verdict !== direction) || !isMostlyLeft(cell, state.now);
  };
  const standing = ownMetrics(finding, cells).map(isBack);
  if (attached.length === 0 && standing.includes(true) && !standing.includes(false)) {
    const badPlaces = finding.cells.map((cell) => {
      const { nights, values } = measuredOf(cell)?.history ?? { nights: [], values: new Float64Array() };
      const isBad = (value: number, index: number): boolean =>
        (nights[index] ?? judged) < judged && (nights[index] ?? -1) >= place && isMostlyLeft(cell, value);
      return nights[values.findLastIndex(isBad)] ?? -1;
    });
    const last = evidence.sweeps[Math.max(lastPlace, ...badPlaces)]?.sweepId;
    return { ...finding, state: 'recovered', lastBadSweepId: last ?? finding.firstBadSweepId };
  }
  const isMachine = finding.cause === 'machine' && (attached.length > 0 || standing.includes(false));
  const newest = evidence.sweeps[judged]?.sweepId ?? finding.reportedSweepId;
  // The size of a change is the newest estimate of it, wherever it is shown; of several open ones each keeps its step.
  const updated = finding.cells.map((cell) => {
    const state = stateIn(states, cell);
    const isStacked = known.some(
      (other) => other.finding !== finding && other.finding.state === 'open' && cellIn(other.finding, cell),
    );
    if (isStacked || accepted.has(findingId) || state === null || state.verdict !== direction) return cell;
    return { ...cell, ...sizeOf(cell.metric, state.before, state.change) };
  });
  const added = attached.filter((change) => cellIn(finding, change) === undefined).map(findingCellOf);
  return {
    ...finding,
    lasts: lasts ?? attached.find(({ pairs, lasts: by }) => pairs !== null && by === 'pairs')?.lasts ?? null,
    lastBadSweepId: isMachine ? newest : finding.lastBadSweepId,
    cells: [...updated, ...added],
  };
}

/** Where a cell changed in the metric that it is compared by, that one speaks for it: the others scatter more. */
function ownMetrics(finding: Finding, cells: ReadonlyMap<CellKey, CellEvidence>): Finding['cells'] {
  const isOwn = ({ cellKey, metric }: FindingCell): boolean => cells.get(cellKey)?.metrics[0]?.metric === metric;
  const inOwn = new Set(finding.cells.filter(isOwn).map(({ cellKey }) => cellKey));
  return finding.cells.filter((cell) => !inOwn.has(cell.cellKey) || isOwn(cell));
}
