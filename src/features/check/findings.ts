import { buildDifferences } from '../../judge/compare/differences.ts';
import { brokenLimits, limitedValues } from '../../judge/gate/limit-findings.ts';
import { cellKeysOf } from '../../judge/gate/judge-sweep.ts';
import { type FindingCell, idOf, isMostlyLeft } from '../../judge/gate/metric-changes.ts';
import type { GateRules, SweepEvidence } from '../../judge/gate/evidence.ts';
import { type KeyedCell, labelIn } from '../../records/cell.ts';
import { type Finding, saidState } from '../../records/finding.ts';
import { gatedMetricOf } from '../../records/gated-metric.ts';
import { gateMetric, isMetric } from '../../records/metric.ts';
import type { SweepId } from '../../records/scalars.ts';
import { findCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { findBuilds } from '../../store/sweeps/environments.ts';
import { sweepsById } from '../../store/sweeps/find-sweeps.ts';
import { commitsBetween } from '../../tools/git/git.ts';
import type { JudgedSeries } from './gather.ts';
import type { CheckedFinding } from './output.ts';

type Cells = ReadonlyMap<string, KeyedCell>;
type Edge = CheckedFinding['lastGood'];
type Judged = Pick<JudgedSeries, 'acknowledgements' | 'batch' | 'evidence' | 'verdict'>;

export function isPresent({ state }: Pick<CheckedFinding, 'state'>): boolean {
  return state === 'new' || state === 'open';
}

export function isShownWhole({ direction, state }: Pick<CheckedFinding, 'direction' | 'state'>): boolean {
  return state === 'new' || (state === 'open' && direction === 'slower');
}

export function newFirst<Found extends Pick<CheckedFinding, 'state'>>(findings: readonly Found[]): Found[] {
  return findings.toSorted((a, b) => Number(b.state === 'new') - Number(a.state === 'new'));
}

/** Findings of a series in the order of printing: slower before faster, many cells before few, then by evidence. */
export async function checkedFindings(db: StoreDatabase, judged: Judged, findings: readonly Finding[], cwd: string) {
  const { acknowledgements, batch, evidence, verdict } = judged;
  const sorted = findings.toSorted(
    (a, b) =>
      Number(b.direction === 'slower') - Number(a.direction === 'slower') ||
      cellKeysOf([b]).size - cellKeysOf([a]).size ||
      marginOf(b.cells) - marginOf(a.cells),
  );
  const ids = findings.flatMap((one) => [one.firstBadSweepId, one.lastBadSweepId ?? '', one.lastGoodSweepId ?? '']);
  const named = sweepsById(db, ids);
  const edges = named.map(({ sweepId, startedAt, commit, dirty }) => ({ sweepId, startedAt, commit, dirty }));
  const edgeOf = (id: SweepId | null): Edge => edges.find(({ sweepId }) => sweepId === id) ?? null;
  const cells = findCells(db, [...cellKeysOf(sorted)]);
  const beyond = brokenLimits(evidence.rules, limitedValues(evidence.cells, evidence.rules));
  const limited = new Set(beyond.map(({ cell }) => idOf(cell)));
  const shown: CheckedFinding[] = [];
  for (const finding of sorted) {
    const { cells: changes, findingId: id, firstBadSweepId, lastBadSweepId, lastGoodSweepId, ...about } = finding;
    const [firstBad, lastBad, lastGood] = [edgeOf(firstBadSweepId), edgeOf(lastBadSweepId), edgeOf(lastGoodSweepId)];
    const ack = acknowledgements.get(id) ?? null;
    const acknowledged = ack && { reason: ack.reason, until: ack.until, owner: ack.owner, createdAt: ack.createdAt };
    const state = saidState(finding, acknowledged !== null, batch);
    const all = inOrder(changes, cells, evidence.rules);
    // A cell may be back before the others.
    const isBack = (cell: FindingCell): boolean =>
      about.kind === 'limit' ? !limited.has(idOf(cell)) : verdict.judgedOf(cell)?.verdict === 'same';
    const standing = all.filter((cell) => !isPresent({ state }) || !isBack(cell));
    const details = standing.length > 0 ? standing : all;
    const keys = [...new Set(details.map(({ cellKey }) => cellKey))];
    const byMetric = [...Map.groupBy(details, ({ metric }) => metric).values()];
    // A faster level that lasts became the reference.
    const isReference =
      about.direction === 'faster' &&
      state === 'recovered' &&
      all.every((cell) => isMostlyLeft(cell, verdict.judgedOf(cell)?.before ?? cell.before));
    const isExplained = isShownWhole({ ...finding, state });
    shown.push({
      id,
      ...about,
      state,
      group: details.length < all.length ? [] : about.group,
      cells: keys,
      labels: keys.map((key) => labelIn(cells, key)),
      metrics: byMetric.flatMap((own) => clearest(own).map(changeOutput)),
      details: details.map(({ cellKey: key, margin, ...change }) => {
        return { key, label: labelIn(cells, key), ...changeOutput(change), margin };
      }),
      firstBad,
      lastGood,
      lastBad: isReference ? null : lastBad,
      commits: isExplained && about.cause !== 'machine' ? await commitsBetween(cwd, lastGood, firstBad) : [],
      buildChanges: isExplained ? buildChangesOf(db, judged, finding) : [],
      likeliestCause: isExplained ? await causeOf(db, details, cells, lastGood, firstBad) : null,
      owner: acknowledged?.owner ?? finding.owner,
      acknowledged,
    });
  }
  return shown;
}

/** Findings that are open or began in these sweeps, without changes that are now below the smallest relevant one. */
export function shownFindings(findings: readonly Finding[], { rules, sweeps }: SweepEvidence): Finding[] {
  const inSeries = new Set(sweeps.map(({ sweepId }) => sweepId));
  return findings.filter(({ cells, firstBadSweepId, kind, state }) => {
    const failing = cells.filter(({ cellKey, metric }) => !rules.isWarning(cellKey, metric));
    const isBelow = (failing.length > 0 ? failing : cells).every(
      ({ cellKey, changePercent, metric }) => Math.abs(changePercent) < rules.minChangeOf(cellKey, metric),
    );
    return (state === 'open' || inSeries.has(firstBadSweepId)) && (kind === 'limit' || !isBelow);
  });
}

function marginOf(changes: readonly FindingCell[]): number {
  return Math.max(0, ...changes.map(({ margin }) => margin));
}

function clearest(changes: readonly FindingCell[]): FindingCell[] {
  return changes.toSorted((a, b) => b.margin - a.margin).slice(0, 1);
}

/** Cells in order of evidence; the own metric of each cell comes first, and metrics that only warn last. */
function inOrder(changes: Finding['cells'], cells: Cells, rules: GateRules): FindingCell[] {
  const rankOf = ({ cellKey, metric }: FindingCell): number => {
    const cell = cells.get(cellKey);
    if (cell !== undefined && gateMetric(null, cell) === metric) return -1;
    return Number(rules.isWarning(cellKey, metric));
  };
  return [...Map.groupBy(changes, ({ cellKey }) => cellKey).values()]
    .toSorted((a, b) => marginOf(b) - marginOf(a))
    .flatMap((own) => own.toSorted((a, b) => rankOf(a) - rankOf(b)));
}

function changeOutput({ metric, changePercent, ciPercent, before, after }: Omit<FindingCell, 'cellKey' | 'margin'>) {
  const { betterIs, label: title, unit } = gatedMetricOf(metric);
  return { metric, title, unit, betterIs, changePercent, ciPercent, before, after };
}

function buildChangesOf(db: StoreDatabase, { evidence: { sweeps }, verdict }: Judged, finding: Finding): string[] {
  const [history] = clearest(finding.cells).flatMap((change) => verdict.measured(change)?.history ?? []);
  const [before = null, after = null] = [finding.lastGoodSweepId, finding.firstBadSweepId].map((id) => {
    const place = history?.places.findIndex((one) => sweeps[one]?.sweepId === id);
    return history?.builds?.[place ?? -1] ?? null;
  });
  if (before === null || after === null || before === after) return [];
  const known = findBuilds(db, [before, after]);
  const [was = null, is = null] = [known.get(before), known.get(after)];
  const differing = buildDifferences(was, is);
  const isSameEngine = was !== null && was.engineSha256 !== null && was.engineSha256 === is?.engineSha256;
  // Only an engine that bench built has a key.
  const isBuilt = (is?.engineKey ?? null) !== null;
  return differing.length > 0 || isSameEngine ? differing : [isBuilt ? 'the engines were rebuilt' : 'another engine'];
}

async function causeOf(db: StoreDatabase, details: readonly FindingCell[], cells: Cells, good: Edge, bad: Edge) {
  for (const { cellKey, metric } of details) {
    const cell = cells.get(cellKey);
    if (!isMetric(metric) || cell === undefined || good === null || bad === null) continue;
    const { firstCauseOf } = await import('../why/index.ts');
    return firstCauseOf(db, cell, metric, [[good.sweepId], [bad.sweepId]]);
  }
  return null;
}
