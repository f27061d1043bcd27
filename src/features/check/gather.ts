import { ensure } from '../../errors.ts';
import { type SweepEvidence, gateRules } from '../../judge/gate/evidence.ts';
import type { Finding, JudgedSweep as JudgedRow } from '../../records/finding.ts';
import { type GatedMetricId, isJudgedOnly } from '../../records/gated-metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { pairResultsOf } from '../../selection/pair-results.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { baselineSweep, seriesAround, sweepsById, sweepsUntil, seriesUntil } from '../../store/sweeps/find-sweeps.ts';
import {
  acknowledgementsOf,
  findingsOf,
  findingsReportedIn,
  judgedAmong,
  saveVerdict,
} from '../../store/sweeps/findings.ts';
import { gateOf } from '../../store/sweeps/sweeps.ts';
import { printable } from '../../text/printable.ts';
import { contains } from '../../tools/git/git.ts';
import type { CheckOptions } from './command.ts';
import { readEvidence } from './evidence.ts';
import { type Series, seriesAt } from './series.ts';
import type { Io } from '../../cli/io.ts';
import { judgeSweep } from '../../judge/gate/judge-sweep.ts';
import { MARGINS } from '../../judge/gate/metric-changes.ts';
import { keysOf } from '../../text/unknown-values.ts';
import { ALERTING } from '../../judge/history/noise.ts';

const GATED: readonly GatedMetricId[] = ['gpuComputeMs', 'throughputQps', 'p99Ms', ...keysOf(MARGINS)];

export type Place = Pick<Io, 'cwd' | 'env'>;

/** `against`: the reference baseline, which replaces the one of the matrix. */
export interface JudgeOptions extends Pick<Partial<CheckOptions>, 'against' | 'minChange'> {
  /** Findings known before this sweep, without those that an earlier judgment of it reported. */
  readonly findings?: readonly Finding[];
  /** Judges it as it was before the next sweep, without the unjudged sweeps before it. */
  readonly onlyNewest?: boolean;
  /** When the next sweep began. Later acknowledgements do not count. */
  readonly nextStartedAt?: string | null;
  /** Stores the verdicts with this time. */
  readonly judgedAt?: string | null;
}

export async function judgedSweep(db: StoreDatabase, sweep: Sweep, io: Place, options: JudgeOptions = {}) {
  const ofBranch = await seriesAt(db, sweep, io);
  const { baseBranch } = ofBranch;
  const settings = gateOf(db, sweep.sweepId);
  // A pull request is judged against its merge base, not against the baseline of the matrix.
  const name = options.against ?? (baseBranch === null ? settings.against : null);
  const [baseline] = name === null ? [] : sweepsById(db, [baselineSweep(db, name) ?? '']);
  const isNamed = options.against !== undefined;
  const stated = `--against ${printable(name ?? '')}`;
  ensure(!isNamed || baseline !== undefined, `${stated}: baseline not found; see \`bench ls baselines\``);
  const place = ofBranch.sweeps.findIndex(({ sweepId }) => sweepId === baseline?.sweepId);
  const sweeps = baseline !== undefined && place === -1 ? [baseline, ...ofBranch.sweeps] : ofBranch.sweeps;
  const ofBaseline = baseline === undefined ? null : Math.max(0, place);
  const series: Series = { ...ofBranch, sweeps };
  const rules = gateRules(settings, options.minChange ?? null);
  const gated = [...GATED, ...rules.limited].filter((metric) => !isJudgedOnly(metric));
  const { captured, notes, ...read } = readEvidence(db, series, ofBaseline, gated);
  const histories = read.cells.flatMap(({ metrics: own }) => own.map(({ history }) => history));
  const baselinePlace = histories.some(({ places }) => places.includes(ofBaseline ?? -1)) ? ofBaseline : null;
  const why = 'measured on another GPU model, TensorRT major or clock, or without a result';
  ensure(!isNamed || baselinePlace !== null, `${stated}: ${why}: no cell can be compared with it`);
  // Against a baseline of the command line, earlier findings have no place: they are about another reference.
  const own = isNamed ? [] : findingsReportedIn(db, [sweep.sweepId]);
  const findings = [...(options.findings ?? knownFindings(db, series, options)), ...own];
  const ids = findings.map(({ findingId }) => findingId);
  const acknowledged = new Map<string, { readonly isOver: boolean }>();
  for (const [findingId, { until }] of acknowledgementsOf(db, ids, options.nextStartedAt))
    acknowledged.set(findingId, { isOver: until !== null && (await hasPassed(until, sweep, io.cwd)) });
  const around = { sweeps, isPullRequest: baseBranch !== null, baselinePlace, findings, acknowledged, rules };
  const evidence: SweepEvidence = { ...read, ...around, pairs: pairResultsOf(db, sweeps, rules) };
  // `against`: without a `baselinePlace`, it does not exist here.
  return { series, evidence, verdict: judgeSweep(evidence), against: name, captured, notes, isStored: !isNamed };
}

/** Findings reported before this sweep. Empty for a pull request, and against a baseline of the command line. */
function knownFindings(db: StoreDatabase, { baseBranch, sweep, sweeps, matrices }: Series, { against }: JudgeOptions) {
  if (baseBranch !== null || against !== undefined) return [];
  const stored = findingsOf(db, { ...sweep, matrices });
  const named = stored.flatMap((one) => [one.reportedSweepId, one.lastBadSweepId ?? one.reportedSweepId]);
  const before = sweepsUntil(db, [...new Set(named)], sweep);
  before.delete(sweep.sweepId);
  const reported = stored.filter(({ reportedSweepId }) => before.has(reportedSweepId));
  const previous = sweeps.at(-2)?.sweepId ?? null;
  // A finding that ended in this sweep or later was open. A slow machine was slow until the sweep before.
  return reported.map((finding): Finding => {
    const { cause, lastBadSweepId: last, pairs, state } = finding;
    const isOver = before.has(last ?? '') && (last !== previous || pairs?.outcome === 'cleared');
    const lastBadSweepId = cause === 'machine' ? previous : null;
    return state === 'recovered' && !isOver ? { ...finding, state: 'open', lastBadSweepId } : finding;
  });
}

/** Whether the date of an acknowledgement has passed, or the sweep contains its commit. */
async function hasPassed(until: string, { commit, startedAt }: Sweep, cwd: string): Promise<boolean> {
  if (/^\d{4}-/.test(until)) return (startedAt ?? '').slice(0, 10) > until;
  return commit !== null && contains(cwd, commit, until);
}

export type JudgedSweep = Awaited<ReturnType<typeof judgedSweep>>;

export type JudgedSeries = Awaited<ReturnType<typeof judgeSeries>>;

/** The newest sweep of a series, judged together with the unjudged sweeps before it. */
export async function judgeSeries(db: StoreDatabase, newest: Sweep, io: Place, options: JudgeOptions) {
  const { judgedAt = null, onlyNewest = false } = options;
  const { pending, before, isFirstByReference } = onlyNewest
    ? { pending: [newest], before: null, isFirstByReference: false }
    : pendingOf(db, newest);
  const nextStartedAt = onlyNewest ? (seriesAround(db, newest).after[0]?.startedAt ?? null) : null;
  const changed: string[] = [];
  let judged = await judgedSweep(db, pending[0] ?? newest, io, { ...options, nextStartedAt });
  for (const sweep of [null, ...pending.slice(1)]) {
    if (sweep !== null) judged = await judgedSweep(db, sweep, io, { ...options, findings: judged.verdict.findings });
    if (judgedAt !== null) changed.push(...store(db, judged, { judgedAt, ...before }));
  }
  const ids = judged.verdict.findings.map(({ findingId }) => findingId);
  const acknowledgements = new Map(acknowledgementsOf(db, ids, nextStartedAt));
  for (const findingId of judged.verdict.endedAcknowledgements) acknowledgements.delete(findingId);
  /** IDs of the sweeps judged together with the newest. The findings that they reported are new. */
  const batch: ReadonlySet<string> = new Set(before?.batch ?? pending.map(({ sweepId }) => sweepId));
  return { ...judged, batch, acknowledgements, changed, isFirstByReference };
}

/** Judges sweeps again, each as if on its own morning. @returns IDs of the sweeps whose findings changed */
export async function judgeAgain(db: StoreDatabase, judged: ReadonlyMap<string, JudgedRow>, io: Place) {
  const changed: string[] = [];
  for (const sweep of sweepsById(db, [...judged.keys()]).toReversed()) {
    const judgedAt = judged.get(sweep.sweepId)?.judgedAt ?? null;
    if (judgedAt !== null) changed.push(...store(db, await judgedSweep(db, sweep, io), { judgedAt }));
  }
  return changed;
}

/** IDs of the sweeps judged together with the newest of a series, if it was judged. */
export function newestBatch(db: StoreDatabase, newest: Sweep | undefined): ReadonlySet<string> {
  return new Set(newest === undefined ? [] : pendingOf(db, newest).before?.batch);
}

/** Sweeps to judge, oldest first: the unjudged ones, or the newest again, which may have new runs or pairs. */
function pendingOf(db: StoreDatabase, newest: Sweep) {
  const sweeps = seriesUntil(db, newest, ALERTING.windowSweeps);
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const judged = judgedAmong(db, ids);
  const newestJudged = sweeps.findIndex(({ sweepId }) => judged.has(sweepId));
  const last = judged.get(sweeps[newestJudged]?.sweepId ?? '');
  // An earlier version judged the newest judged sweep by other rules.
  const isFirstByReference = last?.judgedBy === 'earlierRules';
  // Judging a series for the first time starts with its newest sweep.
  const pending = sweeps.slice(0, Math.max(1, newestJudged)).toReversed();
  if (newestJudged !== 0 || last === undefined) return { pending, before: null, isFirstByReference };
  const isOfEarlierRules = isFirstByReference || last.judgedBy === 'earlierRulesReported';
  const together = ids.filter((id) => judged.get(id)?.judgedAt === last.judgedAt);
  // A finding reported before an update is not new after it.
  const before = isOfEarlierRules ? { batch: [], judgedBy: 'earlierRulesReported' as const } : { batch: together };
  return { pending, before: { judgedAt: last.judgedAt, ...before }, isFirstByReference };
}

function store(
  db: StoreDatabase,
  { series, evidence, verdict }: JudgedSweep,
  { judgedAt, judgedBy = verdict.judgedBy }: Pick<JudgedRow, 'judgedAt'> & Partial<Pick<JudgedRow, 'judgedBy'>>,
): string[] {
  const { sweepId } = series.sweep;
  const { cells, endedAcknowledgements, findings: own } = verdict;
  const before = new Map(evidence.findings.map((finding) => [finding.findingId, JSON.stringify(finding)]));
  const changed = own.filter((finding) => before.get(finding.findingId) !== JSON.stringify(finding));
  const kept = new Set(own.map(({ findingId }) => findingId));
  const retracted = findingsReportedIn(db, [sweepId]).flatMap((one) => (kept.has(one.findingId) ? [] : one.findingId));
  const findings = [...changed, ...superseded(db, series, own)];
  const failedCells = cells.filter(({ reason }) => reason === 'failed').length;
  saveVerdict(db, { judged: { sweepId, judgedAt, judgedBy, failedCells }, findings, retracted, endedAcknowledgements });
  return [sweepId, ...findings.map(({ reportedSweepId }) => reportedSweepId)];
}

/** Each push of a pull request is judged separately. */
function superseded(db: StoreDatabase, { baseBranch, matrices, sweep }: Series, own: readonly Finding[]): Finding[] {
  if (baseBranch === null) return [];
  return findingsOf(db, { ...sweep, matrices }).flatMap((finding): Finding[] => {
    const keys = new Set(finding.cells.map(({ cellKey }) => cellKey));
    const again = own.filter(({ direction }) => direction === finding.direction).flatMap(({ cells }) => cells);
    const isSeen = again.some(({ cellKey }) => keys.has(cellKey));
    const isOver = finding.state === 'open' && finding.reportedSweepId !== sweep.sweepId && !isSeen;
    return isOver ? [{ ...finding, state: 'recovered', lastBadSweepId: finding.reportedSweepId }] : [];
  });
}
