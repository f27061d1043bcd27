import type { Io } from '../../cli/io.ts';
import { judgeSweep } from '../../judge/gate/judge-sweep.ts';
import type { SweepVerdict } from '../../judge/gate/verdict.ts';
import { ALERTING } from '../../judge/history/settings.ts';
import type { Acknowledgement, Finding } from '../../records/finding.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { hasRunsSince } from '../../store/runs/runs.ts';
import { seriesOf } from '../../store/sweeps/find-sweeps.ts';
import {
  acknowledgementsOf,
  findingsOf,
  findingsReportedIn,
  judgedAmong,
  saveFailedCells,
  saveVerdict,
} from '../../store/sweeps/findings.ts';
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
  /** Sweeps that were never judged, and are too many to be. */
  readonly skipped: number;
  readonly acknowledgements: ReadonlyMap<string, Acknowledgement>;
  /** Ids of the sweeps whose stored findings changed. */
  readonly changed: readonly string[];
}

const MOST_AT_ONCE = 7;

/** @param judgedAt null: nothing is stored */
export async function judgeSeries(
  db: StoreDatabase,
  newest: Sweep,
  { judgedAt, onlyNewest }: { readonly judgedAt: string | null; readonly onlyNewest: boolean },
  io: Place,
  given: GatherOptions = {},
): Promise<JudgedSeries> {
  const options = { ...given, keeps: judgedAt !== null };
  const { pending, skipped, before } = onlyNewest
    ? { pending: [newest], skipped: 0, before: null }
    : pendingOf(db, newest, options.minChangePercent !== undefined);
  const changed: string[] = [];
  let known: readonly Finding[] | undefined = options.findings;
  let judged: JudgedSweep | null = null;
  for (const sweep of pending) {
    judged = await judgedSweep(db, sweep, io, { ...options, findings: known });
    known = judged.verdict.findings;
    if (judgedAt !== null) changed.push(...store(db, judged, before?.judgedAt ?? judgedAt));
  }
  if (judged === null) {
    judged = await judgedAsBefore(db, newest, io, options);
    if (judgedAt !== null) saveFailedCells(db, newest.sweepId, failedCells(judged.verdict));
  }
  const ids = judged.verdict.findings.map(({ findingId }) => findingId);
  const ended = new Set(judged.verdict.endedAcknowledgements);
  const acknowledgements = [...acknowledgementsOf(db, ids)].filter(([findingId]) => !ended.has(findingId));
  return {
    ...judged,
    batch: new Set([...pending.map(({ sweepId }) => sweepId), ...(before?.batch ?? [])]),
    skipped,
    acknowledgements: new Map(acknowledgements),
    changed,
  };
}

/** Nothing came since it was judged: what was said of it holds. */
async function judgedAsBefore(
  db: StoreDatabase,
  sweep: Sweep,
  io: Place,
  options: GatherOptions,
): Promise<JudgedSweep> {
  const judged = await judgedSweep(db, sweep, io, { ...options, isJudged: true });
  const { findings } = judged.evidence;
  return { ...judged, verdict: { ...judged.verdict, findings, endedAcknowledgements: [] } };
}

/**
 * Sweeps to be judged, oldest first; the newest again where more was measured of it since, as pairs.
 * @param isChanged it is to be judged by other settings
 */
export function pendingOf(db: StoreDatabase, newest: Sweep, isChanged: boolean) {
  const sweeps = seriesOf(db, newest, ALERTING.windowNights);
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const judged = judgedAmong(db, ids);
  const last = judged.get(newest.sweepId);
  if (last !== undefined) {
    const together = sweeps.filter(({ sweepId }) => judged.get(sweepId)?.judgedAt === last.judgedAt);
    const batch = together.map(({ sweepId }) => sweepId);
    const pending = isChanged || hasRunsSince(db, newest.sweepId, last.judgedAt) ? [newest] : [];
    return { pending, skipped: 0, before: { ...last, batch } };
  }
  const newestJudged = sweeps.findIndex(({ sweepId }) => judged.has(sweepId));
  // A series that was never judged before begins with its newest sweep.
  const unjudged = newestJudged === -1 ? 1 : newestJudged;
  const pending = sweeps.slice(0, Math.min(unjudged, MOST_AT_ONCE)).toReversed();
  return { pending, skipped: unjudged - pending.length, before: null };
}

/** @returns ids of the sweeps whose findings changed */
function store(db: StoreDatabase, { series, evidence, verdict }: JudgedSweep, judgedAt: string): string[] {
  const { sweepId, branch } = series.sweep;
  const before = new Map(evidence.findings.map((finding) => [finding.findingId, JSON.stringify(finding)]));
  const own = verdict.findings.filter((finding) => finding.branch === branch);
  const findings = own.filter((finding) => before.get(finding.findingId) !== JSON.stringify(finding));
  const kept = new Set(own.map(({ findingId }) => findingId));
  const earlier = findingsReportedIn(db, [sweepId]);
  const retracted = earlier.map(({ findingId }) => findingId).filter((id) => !kept.has(id));
  const { endedAcknowledgements, judgedBy } = verdict;
  const all = [...findings, ...superseded(db, series, own)];
  const judged = { sweepId, judgedAt, judgedBy, failedCells: failedCells(verdict) };
  saveVerdict(db, { judged, findings: all, retracted, endedAcknowledgements });
  return [sweepId, ...all.map(({ reportedSweepId }) => reportedSweepId)];
}

/** Number of planned cells without a result. */
export function failedCells({ cells }: SweepVerdict): number {
  return cells.filter(({ status }) => status === 'failed').length;
}

/** Each push of a pull request is judged by itself: what an earlier one was said to be goes on, or is over. */
function superseded(db: StoreDatabase, { baseBranch, matrices, sweep }: Series, own: readonly Finding[]): Finding[] {
  if (baseBranch === null) return [];
  const earlier = findingsOf(db, { ...sweep, matrices }).filter(
    ({ reportedSweepId, state }) => reportedSweepId !== sweep.sweepId && GOES_ON.includes(state),
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

const GOES_ON: readonly Finding['state'][] = ['suspected', 'confirmed', 'open'];
