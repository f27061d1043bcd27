import { and, eq, notInArray, or, sql } from 'drizzle-orm';

import type { Finding } from '../../records/finding.ts';
import type { SweepId } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import { isAmong, textsIn } from '../conditions.ts';
import { immediately, type StoreDatabase } from '../file/open.ts';
import { findings, judgedSweeps } from '../annotations-schema.ts';
import { cells, runs, sweepCells, sweeps } from '../schema.ts';
import { seriesAround, sweepsById } from './find-sweeps.ts';
import { acknowledgementsOf, findingsOf, findingsReportedIn, saveFinding } from './findings.ts';

/** The removal of a sweep: the deleted rows, and the changes of others. */
export type Removal = ReturnType<typeof removalOf>;

/**
 * Computes how the store would be if a sweep had never been made. Changes nothing.
 *
 * - The judgment of the sweep is deleted, and so are those of all later sweeps of its series, which used it. Another
 *   series may name the sweep in a finding (a pull request judged by its branch). Its judgments are deleted from the
 *   sweep that reported that finding.
 * - Findings that one of these sweeps reported are deleted; the sweeps that are judged again report them again. An
 *   acknowledged finding of a later sweep stays, because a person gave its reason. If it names the removed sweep, the
 *   next sweep replaces it as the first bad one, and the previous sweep as the last good one. An acknowledged finding
 *   of the removed sweep itself is deleted with its acknowledgement, which the caller prints.
 * - Findings that an earlier sweep reported stay. If this sweep or a later one ended a finding, or saw it last, that is
 *   no longer known. The finding is then open again, without a last bad sweep, until the next check.
 */
export function removalOf(db: StoreDatabase, sweep: Sweep) {
  const { sweepId } = sweep;
  const { after, before } = seriesAround(db, sweep);
  const elsewhere = judgedElsewhere(db, sweep, new Set([sweep, ...before, ...after].map((one) => one.sweepId)));
  const judgedAgain = [...after, ...elsewhere].map((one) => one.sweepId);
  const reported = findingsReportedIn(db, [sweepId, ...judgedAgain]);
  const ids = reported.map(({ findingId }) => findingId);
  const marks = acknowledgementsOf(db, ids);
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
    /** Sweeps whose judgments are deleted, and made again. */
    judgedAgain,
    findings: reported
      .filter((finding) => !stays(finding))
      .map((finding) => ({ finding, acknowledgement: marks.get(finding.findingId) ?? null })),
    /** Findings that were over and are open again, in their new form. */
    reopened: endedSince.map((finding): Finding => ({ ...finding, state: 'open', lastBadSweepId: null })),
    changed: [
      ...seenSince
        .filter((finding) => finding.state !== 'recovered')
        .map((finding) => ({ ...finding, lastBadSweepId: null })),
      ...reported.filter(stays).flatMap((finding) => withNeighbors(finding, sweepId, previous, next)),
    ],
  };
}

/** The sweeps of other series whose judgments used this one, and the later ones of those series. */
function judgedElsewhere(db: StoreDatabase, sweep: Sweep, own: ReadonlySet<SweepId>): Sweep[] {
  const { firstBadSweepId, lastBadSweepId, lastGoodSweepId, reportedSweepId } = findings;
  const naming = [firstBadSweepId, lastBadSweepId, lastGoodSweepId, reportedSweepId];
  const reporting = textsIn(db, reportedSweepId, or(...naming.map((column) => eq(column, sweep.sweepId))));
  const others = reporting.filter((id) => !own.has(id));
  const first = sweepsById(db, others);
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

/** Removes a sweep in one transaction, with the cells that no other sweep has. Engines and environments stay. */
export function removeSweep(db: StoreDatabase, removal: Removal): void {
  const { changed, judgedAgain, reopened, sweepId } = removal;
  const ids = removal.findings.map(({ finding }) => finding.findingId);
  immediately(db, () => {
    const cellKeys = [runs, sweepCells].flatMap((table) => textsIn(db, table.cellKey, eq(table.sweepId, sweepId)));
    db.delete(findings).where(isAmong(findings.findingId, ids)).run();
    for (const finding of [...changed, ...reopened]) saveFinding(db, finding);
    db.delete(judgedSweeps).where(isAmong(judgedSweeps.sweepId, judgedAgain)).run();
    db.delete(sweeps).where(eq(sweeps.sweepId, sweepId)).run();
    const used = sql`(SELECT cell_key FROM runs WHERE cell_key IS NOT NULL UNION SELECT cell_key FROM sweep_cells
      UNION SELECT cell_key FROM finding_cells)`;
    db.delete(cells)
      .where(and(isAmong(cells.cellKey, cellKeys), notInArray(cells.cellKey, used)))
      .run();
  });
}
