import { eq } from 'drizzle-orm';

import type { Acknowledgement, Finding } from '../../records/finding.ts';
import type { SweepId } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import { removeUnusedCells } from '../cells.ts';
import { immediately, type StoreDatabase } from '../file/open.ts';
import { findings, judgedSweeps } from '../annotations-schema.ts';
import { runs, sweepCells, sweeps } from '../schema.ts';
import { seriesAround, sweepsById } from './find-sweeps.ts';
import {
  acknowledgementsOf,
  findingsNaming,
  findingsOf,
  findingsReportedIn,
  isAmong,
  saveFinding,
} from './findings.ts';

export interface RemovedFinding {
  readonly finding: Finding;
  /** Null if nobody acknowledged it. */
  readonly acknowledgement: Acknowledgement | null;
}

/** What goes with a sweep, and what becomes of the rest. */
export interface Removal {
  readonly sweepId: SweepId;
  /** Sweeps that are no longer judged: the next `bench check` judges them again. */
  readonly judgedAgain: readonly SweepId[];
  readonly findings: readonly RemovedFinding[];
  /** Over until now, and open again; as they are stored then. */
  readonly reopened: readonly Finding[];
  /** Others that change; as they are stored then. */
  readonly changed: readonly Finding[];
}

/**
 * What the store would be had a sweep never been made. Changes nothing.
 *
 * - Its own judgement goes, and those of all later sweeps of its series, as they knew of it. So do those of any other
 *   series that names it in a finding (a pull request judged by its branch), from the sweep that reported the finding on.
 * - Findings that one of these sweeps reported go; the sweeps judged again report them again. An acknowledged one that a
 *   later sweep reported stays, as its reason was given by a person: where it named the removed sweep, its first bad sweep
 *   becomes the next one, its last good one the one before. One that the removed sweep itself reported goes with its
 *   acknowledgement, for the caller to print.
 * - Findings that an earlier sweep reported stay. What a sweep from this one on ended, or saw last, is not known any more:
 *   such a finding is open again, without a last bad sweep, until the next check says otherwise.
 */
export function removalOf(db: StoreDatabase, sweep: Sweep): Removal {
  const { sweepId } = sweep;
  const { after, before } = seriesAround(db, sweep);
  const elsewhere = judgedElsewhere(db, sweep, new Set([sweep, ...before, ...after].map((one) => one.sweepId)));
  const judgedAgain = [...after, ...elsewhere].map((one) => one.sweepId);
  const reported = findingsReportedIn(db, [sweepId, ...judgedAgain]);
  const marks = acknowledgementsOf(
    db,
    reported.map(({ findingId }) => findingId),
  );
  const stays = (finding: Finding): boolean => finding.reportedSweepId !== sweepId && marks.has(finding.findingId);
  const [previous, next] = [before[0] ?? null, after[0] ?? null];
  const matrices = [...new Set([sweep, ...before, ...after].map(({ matrix }) => matrix))];
  const until = new Set(before.map((one) => one.sweepId));
  const earlier = findingsOf(db, { ...sweep, matrices }).filter((finding) => until.has(finding.reportedSweepId));
  const since = new Set([sweep, ...after].map((one) => one.sweepId));
  const seenSince = earlier.filter(({ lastBadSweepId }) => lastBadSweepId !== null && since.has(lastBadSweepId));
  const endedSince = earlier.filter(
    (finding) =>
      finding.state === 'recovered' && (finding.lastBadSweepId === previous?.sweepId || seenSince.includes(finding)),
  );
  return {
    sweepId,
    judgedAgain,
    findings: reported
      .filter((finding) => !stays(finding))
      .map((finding) => ({ finding, acknowledgement: marks.get(finding.findingId) ?? null })),
    reopened: endedSince.map((finding) => ({ ...finding, state: 'open', lastBadSweepId: null })),
    changed: [
      ...seenSince
        .filter((finding) => finding.state !== 'recovered')
        .map((finding) => ({ ...finding, lastBadSweepId: null })),
      ...reported.filter(stays).flatMap((finding) => withNeighbors(finding, sweepId, previous, next)),
    ],
  };
}

/** The sweeps of other series that were judged knowing of this one, with those after them. */
function judgedElsewhere(db: StoreDatabase, sweep: Sweep, own: ReadonlySet<SweepId>): Sweep[] {
  const reporting = findingsNaming(db, sweep.sweepId).map(({ reportedSweepId }) => reportedSweepId);
  const first = sweepsById(
    db,
    [...new Set(reporting)].filter((id) => !own.has(id)),
  );
  const all = first.flatMap((one) => [one, ...seriesAround(db, one).after]);
  return [...new Map(all.map((one) => [one.sweepId, one])).values()];
}

function withNeighbors(finding: Finding, removed: SweepId, previous: Sweep | null, next: Sweep | null): Finding[] {
  const { firstBadSweepId, lastBadSweepId, lastGoodSweepId } = finding;
  if (![firstBadSweepId, lastBadSweepId, lastGoodSweepId].includes(removed)) return [];
  return [
    {
      ...finding,
      firstBadSweepId: firstBadSweepId === removed ? (next?.sweepId ?? finding.reportedSweepId) : firstBadSweepId,
      lastBadSweepId: lastBadSweepId === removed ? null : lastBadSweepId,
      lastGoodSweepId: lastGoodSweepId === removed ? (previous?.sweepId ?? null) : lastGoodSweepId,
    },
  ];
}

/** In one transaction. Cells that no other sweep has go, too; engines and environments stay. */
export function removeSweep(db: StoreDatabase, removal: Removal): void {
  const { changed, judgedAgain, reopened, sweepId } = removal;
  const ids = removal.findings.map(({ finding }) => finding.findingId);
  immediately(db, () => {
    const [ofRuns, planned] = [runs, sweepCells].map((table) =>
      db.selectDistinct({ key: table.cellKey }).from(table).where(eq(table.sweepId, sweepId)).all(),
    );
    const cellKeys = [...(ofRuns ?? []), ...(planned ?? [])].flatMap(({ key }) => key ?? []);
    db.delete(findings).where(isAmong(findings.findingId, ids)).run();
    for (const finding of [...changed, ...reopened]) saveFinding(db, finding);
    db.delete(judgedSweeps).where(isAmong(judgedSweeps.sweepId, judgedAgain)).run();
    db.delete(sweeps).where(eq(sweeps.sweepId, sweepId)).run();
    removeUnusedCells(db, cellKeys);
  });
}
