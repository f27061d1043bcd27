import type { Finding } from '../../records/finding.ts';
import { type GatedMetricId, isBoundShare } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import { type CellChange, isMostlyLeft, mainOf } from './cell-change.ts';
import type { CellWords } from './cell-words.ts';
import { clusterChanges, findingCellOf, newFinding } from './new-finding.ts';
import type { CellEvidence, SweepEvidence } from './evidence.ts';
import { rawInterval, rawPercent } from './metric-changes.ts';
import { type MetricStates, stateIn } from './metric-state.ts';
import { hasCell, type PlacedFinding } from './placed-finding.ts';

/** Changes of the same cells that begin within this number of sweeps have one cause. */
const SAME_CAUSE_SWEEPS = 3;

/** What the judged sweep says. */
export interface JudgedSweepFacts {
  readonly evidence: SweepEvidence;
  readonly states: MetricStates;
  readonly words: CellWords;
  /** Findings that may stay: ids of the acknowledged ones. */
  readonly accepted: ReadonlySet<string>;
}

/**
 * Findings after a sweep, from those before it and what changed. A change is part of an open finding of the same cells
 * and direction that began about then, or of one whose cause is the machine; any other is a finding of its own, also a
 * further step of a cell whose finding is open. A finding is over when none of its cells is off its reference, or all
 * lie nearer to the level before.
 */
export function reduceFindings(
  known: readonly PlacedFinding[],
  changes: readonly CellChange[],
  facts: JudgedSweepFacts,
): Finding[] {
  const attached = new Map<PlacedFinding, CellChange[]>();
  const fresh: CellChange[] = [];
  for (const change of changes) {
    const found = known.find((entry) => covers(entry, change, facts));
    if (found === undefined) fresh.push(change);
    else attached.set(found, [...(attached.get(found) ?? []), change]);
  }
  const stacked = stackedCells(known);
  return [
    ...known.map((entry) => continued(entry, attached.get(entry) ?? [], facts, stacked)),
    ...clusterChanges(fresh).map((cluster) => newFinding(cluster, facts.evidence, facts.words)),
  ];
}

function covers(
  { finding, place, reportedPlace }: PlacedFinding,
  change: CellChange,
  { evidence, states, words }: JudgedSweepFacts,
): boolean {
  const { cellKey, direction, metric } = change;
  if (finding.state === 'recovered' || finding.direction !== direction) return false;
  if (!hasCell(finding, cellKey) && !words.hasAll(cellKey, finding.group)) return false;
  // What is not reported in this sweep is where it was reported before; a bottleneck has no further step.
  const state = stateIn(states, cellKey, metric);
  const isReported =
    state === null ? !(isBoundShare(metric) && hasCell(finding, cellKey, metric)) : state.reported !== null;
  const isOfSweep = reportedPlace === evidence.sweeps.length - 1;
  if (!isReported || isOfSweep || finding.cause === 'machine') return true;
  return Math.abs(place - change.place) <= SAME_CAUSE_SWEEPS && !isFurther(finding, change);
}

/** A step on top of the known one begins at its level; one that begins at the reference is the known one, found again. */
function isFurther({ cells }: Finding, { before, cellKey, metric }: CellChange): boolean {
  const known = cells.find((cell) => cell.cellKey === cellKey && cell.metric === metric);
  return known !== undefined && isMostlyLeft(known, before);
}

function continued(
  { finding, place, lastPlace }: PlacedFinding,
  attached: readonly CellChange[],
  facts: JudgedSweepFacts,
  stacked: ReadonlySet<string>,
): Finding {
  const { evidence, states } = facts;
  const judged = evidence.sweeps.length - 1;
  const newest = evidence.sweeps[judged]?.sweepId ?? finding.reportedSweepId;
  if (finding.state === 'recovered') return finding;
  const cells = new Map(evidence.cells.map((cell) => [cell.cell.key, cell]));
  const standing = ownMetrics(finding, cells).map((cell) => isBack(cell, finding, cells, facts));
  const isOver = attached.length === 0 && standing.includes(true) && !standing.includes(false);
  if (isOver) {
    const last = evidence.sweeps[Math.max(lastPlace, lastBadPlace(finding, place, cells, judged))]?.sweepId;
    return { ...finding, state: 'recovered', lastBadSweepId: last ?? finding.firstBadSweepId };
  }
  const isMachine = finding.cause === 'machine' && (attached.length > 0 || standing.includes(false));
  const added = attached.filter(({ cellKey, metric }) => !hasCell(finding, cellKey, metric)).map(findingCellOf);
  const updated = finding.cells.map((cell) =>
    stacked.has(cellName(cell)) || facts.accepted.has(finding.findingId) ? cell : asNow(cell, finding, states),
  );
  const pairs = attached.find((change) => change.pairs !== null && change.lasts === 'pairs');
  return {
    ...finding,
    lasts: finding.lasts ?? pairs?.lasts ?? null,
    lastBadSweepId: isMachine ? newest : finding.lastBadSweepId,
    cells: [...updated, ...added],
  };
}

/** The size of a change is the newest estimate of it, wherever it is shown. */
function asNow(cell: Finding['cells'][number], { direction }: Finding, states: MetricStates): Finding['cells'][number] {
  const state = stateIn(states, cell.cellKey, cell.metric);
  if (state === null || state.verdict !== direction) return cell;
  const { error, reference: before, worse } = state;
  const changePercent = rawPercent(cell.metric, worse);
  return {
    ...cell,
    before,
    after: before * (1 + changePercent / 100),
    changePercent,
    ciPercent: [...rawInterval(cell.metric, worse, error)],
    margin: error > 0 ? Math.abs(worse) / error : cell.margin,
  };
}

/** Metrics of cells that several open findings have: each keeps the step that it was reported by. */
function stackedCells(known: readonly PlacedFinding[]): ReadonlySet<string> {
  const open = known.filter(({ finding }) => finding.state === 'open');
  const counts = Map.groupBy(
    open.flatMap(({ finding }) => finding.cells.map(cellName)),
    (name) => name,
  );
  return new Set([...counts].flatMap(([name, all]) => (all.length > 1 ? [name] : [])));
}

function cellName({ cellKey, metric }: { readonly cellKey: CellKey; readonly metric: GatedMetricId }): string {
  return `${cellKey} ${metric}`;
}

/** Where a cell changed in the metric that it is compared by, that one speaks for it: the others scatter more. */
function ownMetrics(finding: Finding, cells: ReadonlyMap<CellKey, CellEvidence>): Finding['cells'] {
  const isOwn = ({ cellKey, metric }: Finding['cells'][number]): boolean => {
    const evidence = cells.get(cellKey);
    return evidence !== undefined && mainOf(evidence)?.metric === metric;
  };
  const inOwn = new Set(finding.cells.filter(isOwn).map(({ cellKey }) => cellKey));
  return finding.cells.filter((cell) => !inOwn.has(cell.cellKey) || isOwn(cell));
}

/** Null where the judged sweep says nothing of it. */
function isBack(
  cell: Finding['cells'][number],
  { direction, findingId, lasts }: Finding,
  cells: ReadonlyMap<CellKey, CellEvidence>,
  { accepted, evidence, states }: JudgedSweepFacts,
): boolean | null {
  const state = stateIn(states, cell.cellKey, cell.metric);
  if (state !== null) {
    if (state.verdict === 'unclear') return null;
    // What is acknowledged is at its reference, and what only pairs show may be: both go on until the level before is back.
    const isByLevel = accepted.has(findingId) || lasts === 'pairs';
    const isAtReference = !isByLevel && state.verdict !== direction;
    return isAtReference || !isMostlyLeft(cell, state.level);
  }
  const history = historyOf(cell, cells);
  const value = history?.values.at(-1);
  if (value === undefined || history?.nights.at(-1) !== evidence.sweeps.length - 1) return null;
  return !isMostlyLeft(cell, value);
}

/** Place of the newest sweep before the judged one that had the change in one of its cells; -1 where none is known. */
function lastBadPlace(
  finding: Finding,
  place: number,
  cells: ReadonlyMap<CellKey, CellEvidence>,
  judged: number,
): number {
  const places = finding.cells.map((cell) => {
    const { nights, values } = historyOf(cell, cells) ?? { nights: [], values: new Float64Array() };
    const isBad = (value: number, index: number): boolean =>
      (nights[index] ?? judged) < judged && (nights[index] ?? -1) >= place && isMostlyLeft(cell, value);
    return nights[values.findLastIndex(isBad)] ?? -1;
  });
  return Math.max(-1, ...places);
}

function historyOf({ cellKey, metric }: Finding['cells'][number], cells: ReadonlyMap<CellKey, CellEvidence>) {
  return cells.get(cellKey)?.metrics.find((measured) => measured.metric === metric)?.history;
}
