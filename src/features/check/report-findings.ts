import type { SweepEvidence } from '../../judge/gate/evidence.ts';
import type { GateRules } from '../../judge/gate/limits.ts';
import { buildDifferences } from '../../judge/compare/differences.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { type Acknowledgement, type Finding, saidState } from '../../records/finding.ts';
import { BOUND_SHARE_IDS, gatedMetricOf } from '../../records/gated-metric.ts';
import { gateMetric, isMetric } from '../../records/metric.ts';
import type { SweepId } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import { findCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { findBuilds } from '../../store/sweeps/environments.ts';
import { sweepsById } from '../../store/sweeps/find-sweeps.ts';
import { labelIn } from '../../text/cell-label.ts';
import { commitsBetween } from '../../tools/git/git.ts';
import type { JudgedSeries } from './judge-series.ts';
import type { CheckedFinding } from './output.ts';

type FindingCell = Finding['cells'][number];

/** The findings of a series, and what is known of them. */
interface KnownFindings extends Pick<JudgedSeries, 'acknowledgements' | 'batch'> {
  readonly findings: readonly Finding[];
  readonly rules: GateRules;
  readonly sweeps: readonly Sweep[];
}

type Explained = Pick<CheckedFinding, 'buildChanges' | 'commits' | 'likeliestCause'>;

type Explain = (
  finding: Finding,
  details: readonly FindingCell[],
  cells: ReadonlyMap<string, KeyedCell>,
  edge: { readonly lastGood: Sweep | null; readonly firstBad: Sweep | null },
) => Promise<Explained>;

const UNEXPLAINED: Explained = { commits: [], buildChanges: [], likeliestCause: null };

/** What the findings of a series are printed with. @param explain of those that are there; null: of none */
export async function reportFindings(
  db: StoreDatabase,
  { acknowledgements, batch, findings: known, rules, sweeps: ofSeries }: KnownFindings,
  explain: Explain | null,
): Promise<CheckedFinding[]> {
  const inSeries = new Set(ofSeries.map(({ sweepId }) => sweepId));
  const shown = known.filter(
    (finding) =>
      (finding.state === 'open' || inSeries.has(finding.firstBadSweepId)) && !isBelowMinChange(finding, rules),
  );
  const ids = shown.flatMap(({ firstBadSweepId, lastBadSweepId, lastGoodSweepId }) => [
    firstBadSweepId,
    lastBadSweepId,
    lastGoodSweepId,
  ]);
  const sweeps = new Map(
    sweepsById(db, [...new Set(ids.flatMap((found) => found ?? []))]).map((sweep) => [sweep.sweepId, sweep]),
  );
  const cells = findCells(db, [...new Set(shown.flatMap((finding) => finding.cells.map(({ cellKey }) => cellKey)))]);
  const sweepOf = (sweepId: SweepId | null): Sweep | null => sweeps.get(sweepId ?? '') ?? null;
  const findings: CheckedFinding[] = [];
  for (const finding of shown.toSorted(byWeight)) {
    const [lastGood, firstBad] = [sweepOf(finding.lastGoodSweepId), sweepOf(finding.firstBadSweepId)];
    const acknowledgement = acknowledgements.get(finding.findingId);
    const details = inOrder(finding.cells, cells, rules);
    const state = saidState(finding, acknowledgement !== undefined, batch);
    const isExplained = state === 'new' || (state === 'open' && finding.direction === 'slower');
    const explained =
      explain !== null && isExplained ? await explain(finding, details, cells, { lastGood, firstBad }) : UNEXPLAINED;
    findings.push({
      ...aboutOf(finding),
      state,
      cells: [...new Set(details.map(({ cellKey }) => cellKey))],
      labels: [...new Set(details.map(({ cellKey }) => cellKey))].map((key) => labelIn(cells, key)),
      metrics: clearestOfEach(details).map(changeOutput),
      details: details.map((cell) => ({
        key: cell.cellKey,
        label: labelIn(cells, cell.cellKey),
        ...changeOutput(cell),
        margin: cell.margin,
      })),
      firstBad: sweepOutput(firstBad),
      lastGood: sweepOutput(lastGood),
      lastBad: sweepOutput(sweepOf(finding.lastBadSweepId)),
      ...explained,
      owner: acknowledgement?.owner ?? finding.owner,
      acknowledged: acknowledgement === undefined ? null : acknowledgedOutput(acknowledgement),
    });
  }
  return findings;
}

/** Commits, engines and cause, for `reportFindings`. */
export function explanation(db: StoreDatabase, evidence: SweepEvidence, cwd: string): Explain {
  const places = new Map(evidence.sweeps.map(({ sweepId }, place) => [sweepId, place]));
  return async (finding, details, cells, { lastGood, firstBad }) => ({
    commits: await commitsOf(lastGood, firstBad, cwd),
    buildChanges: buildChangesOf(db, evidence, finding, places),
    likeliestCause: await causeOf(db, details, cells, lastGood, firstBad),
  });
}

/** What was reported while a smaller change still mattered. */
function isBelowMinChange({ cells, kind }: Finding, rules: GateRules): boolean {
  const failing = cells.filter(({ cellKey, metric }) => !rules.isWarning(cellKey, metric));
  return (
    kind !== 'limit' &&
    (failing.length > 0 ? failing : cells).every(
      ({ cellKey, metric, changePercent }) => Math.abs(changePercent) < rules.minChangeOf(cellKey, metric),
    )
  );
}

/** Slower before faster, many cells before few, then by evidence. */
function byWeight(a: Finding, b: Finding): number {
  if (a.direction !== b.direction) return a.direction === 'slower' ? -1 : 1;
  const size = cellsOf(b) - cellsOf(a);
  return size === 0 ? marginOf(b) - marginOf(a) : size;
}

function cellsOf({ cells }: Finding): number {
  return new Set(cells.map(({ cellKey }) => cellKey)).size;
}

function marginOf({ cells }: Finding): number {
  return Math.max(0, ...cells.map(({ margin }) => margin));
}

function aboutOf(finding: Finding) {
  const { findingId: id, kind, direction, isWarning, matrix, branch, provenance, reportedSweepId } = finding;
  const { group, environmentChanges, cause, lasts, pairs, owner } = finding;
  const about = { id, kind, direction, isWarning, matrix, branch, provenance, reportedSweepId };
  return { ...about, group, environmentChanges, cause, lasts, pairs, owner };
}

function acknowledgedOutput({ reason, until, owner, createdAt }: Acknowledgement) {
  return { reason, until, owner, createdAt };
}

/** Of builds: what only warns comes last. */
const ORDER: readonly string[] = [
  'gpuComputeMs',
  'throughputQps',
  'p99Ms',
  ...BOUND_SHARE_IDS,
  'contextMib',
  'engineMib',
];

/** Cells by evidence; of each cell its own metric first. */
function inOrder(changes: Finding['cells'], cells: ReadonlyMap<string, KeyedCell>, rules: GateRules): FindingCell[] {
  const rankOf = ({ cellKey, metric }: FindingCell): number => {
    const cell = cells.get(cellKey);
    if (cell !== undefined && gateMetric(null, cell) === metric) return -1;
    return rules.isWarning(cellKey, metric)
      ? ORDER.length + 1
      : ORDER.includes(metric)
        ? ORDER.indexOf(metric)
        : ORDER.length;
  };
  const byCell = [...Map.groupBy(changes, ({ cellKey }) => cellKey).values()];
  const marginIn = (own: readonly FindingCell[]): number => Math.max(...own.map(({ margin }) => margin));
  return byCell
    .toSorted((a, b) => marginIn(b) - marginIn(a))
    .flatMap((own) => own.toSorted((a, b) => rankOf(a) - rankOf(b)));
}

function clearestOfEach(details: readonly FindingCell[]): FindingCell[] {
  return [...Map.groupBy(details, ({ metric }) => metric).values()].flatMap(
    (own) => own.toSorted((a, b) => b.margin - a.margin)[0] ?? [],
  );
}

function changeOutput({ metric, changePercent, ciPercent, before, after }: FindingCell) {
  const { betterIs, unit } = gatedMetricOf(metric);
  return { metric, unit, betterIs, changePercent, ciPercent, before, after };
}

function sweepOutput(sweep: Sweep | null): CheckedFinding['lastGood'] {
  if (sweep === null) return null;
  const { sweepId, startedAt, commit, dirty } = sweep;
  return { sweepId, startedAt, commit, dirty };
}

const LISTED_COMMITS = 50;

async function commitsOf(
  lastGood: Sweep | null,
  firstBad: Sweep | null,
  cwd: string,
): Promise<CheckedFinding['commits']> {
  const [from, to] = [lastGood?.commit ?? null, firstBad?.commit ?? null];
  return from === null || to === null || from === to ? [] : commitsBetween(cwd, from, to, LISTED_COMMITS);
}

/** What is recorded of the engines of its clearest cell. */
function buildChangesOf(
  db: StoreDatabase,
  evidence: SweepEvidence,
  { cells, lastGoodSweepId, firstBadSweepId }: Finding,
  places: ReadonlyMap<string, number>,
): string[] {
  const [clearest] = cells.toSorted((a, b) => b.margin - a.margin);
  const metrics = evidence.cells.find(({ cell }) => cell.key === clearest?.cellKey)?.metrics ?? [];
  const history = metrics.find(({ metric }) => metric === clearest?.metric)?.history;
  const buildAt = (sweepId: string | null): string | null => {
    const place = places.get(sweepId ?? '');
    return history?.builds?.[place === undefined ? -1 : history.nights.indexOf(place)] ?? null;
  };
  const [before, after] = [buildAt(lastGoodSweepId), buildAt(firstBadSweepId)];
  if (before === null || after === null || before === after) return [];
  const builds = findBuilds(db, [before, after]);
  const differing = buildDifferences(builds.get(before) ?? null, builds.get(after) ?? null);
  return differing.length > 0 ? [...differing] : ['the engines were built anew'];
}

async function causeOf(
  db: StoreDatabase,
  details: readonly FindingCell[],
  cells: ReadonlyMap<string, KeyedCell>,
  lastGood: Sweep | null,
  firstBad: Sweep | null,
): Promise<CheckedFinding['likeliestCause']> {
  const clearest = details.find(({ metric }) => isMetric(metric));
  const cell = cells.get(clearest?.cellKey ?? '');
  if (clearest === undefined || cell === undefined || lastGood === null || firstBad === null) return null;
  const { metric } = clearest;
  if (!isMetric(metric)) return null;
  const pointOf = ({ sweepId }: Sweep) => ({ cell, sweepIds: [sweepId], runId: null, name: sweepId.slice(0, 8) });
  const { firstCauseOf } = await import('../why/index.ts');
  return firstCauseOf(db, pointOf(lastGood), pointOf(firstBad), metric);
}
