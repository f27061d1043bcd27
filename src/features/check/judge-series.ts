import type { Io } from '../../cli/io.ts';
import { judgeSweep } from '../../judge/gate/judge-sweep.ts';
import type { SweepVerdict } from '../../judge/gate/verdict.ts';
import { ALERTING } from '../../judge/history/settings.ts';
import type { Acknowledgement, Finding, JudgedSweep as JudgedRow } from '../../records/finding.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { seriesUntil } from '../../store/sweeps/find-sweeps.ts';
import {
  acknowledgementsOf,
  findingsOf,
  findingsReportedIn,
  judgedAmong,
  saveVerdict,
} from '../../store/sweeps/findings.ts';
import { failedCells } from './headline.ts';
import { gather, type Gathered, type GatherOptions } from './gather.ts';
import { type Series, seriesAt } from './series.ts';

/** A sweep with what it was judged by, and what the gate says. */
export interface JudgedSweep extends Gathered {
  readonly verdict: SweepVerdict;
}

type Place = Pick<Io, 'cwd' | 'env'>;

/** What the gate says of a sweep; stores nothing. */
export async function judgedSweep(
  db: StoreDatabase,
  sweep: Sweep,
  io: Place,
  options: GatherOptions = {},
): Promise<JudgedSweep> {
  const series = await seriesAt(db, sweep, io);
  const gathered = await gather(db, series, io, options);
  return { ...gathered, verdict: judgeSweep(gathered.evidence) };
}

/** The newest sweep of a series, judged together with those before it that were not. */
export interface JudgedSeries extends JudgedSweep {
  /** Ids of the sweeps that were judged together with the newest: what they reported is new. */
  readonly batch: ReadonlySet<string>;
  readonly acknowledgements: ReadonlyMap<string, Acknowledgement>;
  /** Ids of the sweeps whose stored findings changed. */
  readonly changed: readonly string[];
  /** The newest judged sweep was judged by rules of an earlier version: what was open then makes an exit code now. */
  readonly isFirstByReference: boolean;
}

/** @param judgedAt null: nothing is stored */
export async function judgeSeries(
  db: StoreDatabase,
  newest: Sweep,
  { judgedAt, onlyNewest }: { readonly judgedAt: string | null; readonly onlyNewest: boolean },
  io: Place,
  options: GatherOptions = {},
): Promise<JudgedSeries> {
  const { pending, before, isFirstByReference } = onlyNewest
    ? { pending: [newest], before: null, isFirstByReference: false }
    : pendingOf(db, newest);
  const changed: string[] = [];
  let judged = await judgedSweep(db, pending[0] ?? newest, io, options);
  for (const sweep of [null, ...pending.slice(1)]) {
    if (sweep !== null) judged = await judgedSweep(db, sweep, io, { ...options, findings: judged.verdict.findings });
    if (judgedAt !== null) changed.push(...store(db, judged, { judgedAt, ...before }));
  }
  const ids = judged.verdict.findings.map(({ findingId }) => findingId);
  const ended = new Set(judged.verdict.endedAcknowledgements);
  const acknowledgements = [...acknowledgementsOf(db, ids)].filter(([findingId]) => !ended.has(findingId));
  return {
    ...judged,
    batch: new Set(before?.batch ?? pending.map(({ sweepId }) => sweepId)),
    acknowledgements: new Map(acknowledgements),
    changed,
    isFirstByReference,
  };
}

/** Ids of the sweeps that were judged together with the newest of a series, if it was: what they reported is new. */
export function newestBatch(db: StoreDatabase, newest: Sweep | undefined): ReadonlySet<string> {
  return new Set(newest === undefined ? [] : pendingOf(db, newest).before?.batch);
}

/** Sweeps to be judged, oldest first: those that are not, or the newest again, as runs, pairs or marks may have come. */
function pendingOf(db: StoreDatabase, newest: Sweep) {
  const sweeps = seriesUntil(db, newest, ALERTING.windowNights);
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const judged = judgedAmong(db, ids);
  const newestJudged = sweeps.findIndex(({ sweepId }) => judged.has(sweepId));
  const last = judged.get(sweeps[newestJudged]?.sweepId ?? '');
  const isFirstByReference = last?.judgedBy === 'earlierRules';
  const isOfEarlierRules = isFirstByReference || last?.judgedBy === 'earlierRulesReported';
  if (newestJudged === 0 && last !== undefined) {
    const together = sweeps.filter(({ sweepId }) => judged.get(sweepId)?.judgedAt === last.judgedAt);
    // What was reported before an update is not reported as new after it.
    const batch = isOfEarlierRules ? [] : together.map(({ sweepId }) => sweepId);
    const judgedBy = isOfEarlierRules ? { judgedBy: 'earlierRulesReported' as const } : {};
    const before = { judgedAt: last.judgedAt, batch, ...judgedBy };
    return { pending: [newest], before, isFirstByReference };
  }
  // A series that was never judged before begins with its newest sweep.
  const unjudged = newestJudged === -1 ? 1 : newestJudged;
  return { pending: sweeps.slice(0, unjudged).toReversed(), before: null, isFirstByReference };
}

/** @returns ids of the sweeps whose findings changed */
function store(
  db: StoreDatabase,
  { series, evidence, verdict }: JudgedSweep,
  { judgedAt, judgedBy = verdict.judgedBy }: Pick<JudgedRow, 'judgedAt'> & Partial<Pick<JudgedRow, 'judgedBy'>>,
): string[] {
  const { sweepId, branch } = series.sweep;
  const before = new Map(evidence.findings.map((finding) => [finding.findingId, JSON.stringify(finding)]));
  const own = verdict.findings.filter((finding) => finding.branch === branch);
  const findings = own.filter((finding) => before.get(finding.findingId) !== JSON.stringify(finding));
  const kept = new Set(own.map(({ findingId }) => findingId));
  const earlier = findingsReportedIn(db, [sweepId]);
  const retracted = earlier.map(({ findingId }) => findingId).filter((id) => !kept.has(id));
  const { endedAcknowledgements } = verdict;
  const all = [...findings, ...superseded(db, series, own)];
  const judged = { sweepId, judgedAt, judgedBy, failedCells: failedCells(verdict.cells) };
  saveVerdict(db, { judged, findings: all, retracted, endedAcknowledgements });
  return [sweepId, ...all.map(({ reportedSweepId }) => reportedSweepId)];
}

/** Each push of a pull request is judged by itself: what an earlier one was said to be goes on, or is over. */
function superseded(db: StoreDatabase, { baseBranch, matrices, sweep }: Series, own: readonly Finding[]): Finding[] {
  if (baseBranch === null) return [];
  const earlier = findingsOf(db, { ...sweep, matrices }).filter(
    ({ reportedSweepId, state }) => reportedSweepId !== sweep.sweepId && state === 'open',
  );
  return earlier.flatMap((finding): Finding[] => {
    const isSeen = own.some(
      (one) =>
        one.direction === finding.direction &&
        one.cells.some(({ cellKey }) => finding.cells.some((cell) => cell.cellKey === cellKey)),
    );
    const state = isSeen ? 'open' : 'recovered';
    return state === finding.state ? [] : [{ ...finding, state }];
  });
}
