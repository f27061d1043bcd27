import type { Io } from '../../cli/io.ts';
import { judgeSweep } from '../../judge/gate/judge-sweep.ts';
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
import { gather, type GatherOptions } from './gather.ts';
import { type Series, seriesAt } from './series.ts';

type Place = Pick<Io, 'cwd' | 'env'>;

/** Judges a sweep and returns the data with the verdict; stores nothing. */
export async function judgedSweep(db: StoreDatabase, sweep: Sweep, io: Place, options: GatherOptions = {}) {
  const gathered = await gather(db, await seriesAt(db, sweep, io), io, options);
  return { ...gathered, verdict: judgeSweep(gathered.evidence) };
}

export type JudgedSweep = Awaited<ReturnType<typeof judgedSweep>>;

/** The newest sweep of a series, judged together with the unjudged sweeps before it. */
export interface JudgedSeries extends JudgedSweep {
  /** IDs of the sweeps judged together with the newest. The findings that they reported are new. */
  readonly batch: ReadonlySet<string>;
  readonly acknowledgements: ReadonlyMap<string, Acknowledgement>;
  /** Ids of the sweeps whose stored findings changed. */
  readonly changed: readonly string[];
  /** Rules of an earlier version judged the newest judged sweep. Findings that were open then make an exit code now. */
  readonly isFirstByReference: boolean;
}

/** @param judgedAt null to store nothing */
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
  const acknowledgements = new Map(acknowledgementsOf(db, ids));
  for (const findingId of judged.verdict.endedAcknowledgements) acknowledgements.delete(findingId);
  return {
    ...judged,
    batch: new Set(before?.batch ?? pending.map(({ sweepId }) => sweepId)),
    acknowledgements,
    changed,
    isFirstByReference,
  };
}

/**
 * IDs of the sweeps judged together with the newest of a series, if it was judged. The findings that they reported are
 * new.
 */
export function newestBatch(db: StoreDatabase, newest: Sweep | undefined): ReadonlySet<string> {
  return new Set(newest === undefined ? [] : pendingOf(db, newest).before?.batch);
}

/**
 * Sweeps to judge, oldest first: the unjudged ones, or the newest again, because it may have new runs, pairs or
 * acknowledgements.
 */
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
    // A finding reported before an update is not new after it.
    const batch = isOfEarlierRules ? [] : together.map(({ sweepId }) => sweepId);
    const judgedBy = isOfEarlierRules ? { judgedBy: 'earlierRulesReported' as const } : {};
    const before = { judgedAt: last.judgedAt, batch, ...judgedBy };
    return { pending: [newest], before, isFirstByReference };
  }
  // Judging a series for the first time starts with its newest sweep.
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
  const { cells, endedAcknowledgements } = verdict;
  const before = new Map(evidence.findings.map((finding) => [finding.findingId, JSON.stringify(finding)]));
  const own = verdict.findings.filter((finding) => finding.branch === branch);
  const changed = own.filter((finding) => before.get(finding.findingId) !== JSON.stringify(finding));
  const kept = new Set(own.map(({ findingId }) => findingId));
  const retracted = findingsReportedIn(db, [sweepId]).flatMap(({ findingId }) =>
    kept.has(findingId) ? [] : findingId,
  );
  const findings = [...changed, ...superseded(db, series, own)];
  const failedCells = cells.filter(({ reason }) => reason === 'failed').length;
  saveVerdict(db, { judged: { sweepId, judgedAt, judgedBy, failedCells }, findings, retracted, endedAcknowledgements });
  return [sweepId, ...findings.map(({ reportedSweepId }) => reportedSweepId)];
}

/**
 * Each push of a pull request is judged separately. A finding of an earlier push that this one does not confirm is
 * over.
 */
function superseded(db: StoreDatabase, { baseBranch, matrices, sweep }: Series, own: readonly Finding[]): Finding[] {
  if (baseBranch === null) return [];
  return findingsOf(db, { ...sweep, matrices }).flatMap((finding): Finding[] => {
    const isSeen = own.some(
      (one) =>
        one.direction === finding.direction &&
        one.cells.some(({ cellKey }) => finding.cells.some((cell) => cell.cellKey === cellKey)),
    );
    const isOver = finding.state === 'open' && finding.reportedSweepId !== sweep.sweepId && !isSeen;
    return isOver ? [{ ...finding, state: 'recovered' }] : [];
  });
}
