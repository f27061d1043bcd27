import type { Finding } from '../../records/finding.ts';
import type { SweepId } from '../../records/scalars.ts';
import { ALERTING } from '../history/settings.ts';

/** A finding, with the change of one of its cells. */
export type ReportedOfCell = Pick<Finding, 'direction' | 'firstBadSweepId' | 'reportedSweepId'> &
  Finding['cells'][number];

/** A change under today's rules, as reported at the time, or both. */
export interface Rejudged extends Pick<ReportedOfCell, 'cellKey' | 'changePercent' | 'direction' | 'firstBadSweepId'> {
  /**
   * The sweep that reports it under today's rules; null if none does. `reportedThen` is the sweep that reported it at
   * the time.
   */
  readonly reportedToday: SweepId | null;
  readonly reportedThen: SweepId | null;
}

export function reportedOfCells(findings: readonly Finding[]): ReportedOfCell[] {
  const changes = findings.filter(({ kind }) => kind !== 'limit');
  return changes.flatMap((finding) => finding.cells.map((cell): ReportedOfCell => ({ ...finding, ...cell })));
}

/**
 * Compares findings under today's rules with those reported at the time. A change is the same if it begins in about the
 * same sweep.
 */
export function rejudge(
  today: readonly ReportedOfCell[],
  then: readonly ReportedOfCell[],
  sweepIds: readonly SweepId[],
): Rejudged[] {
  const placeOf = new Map(sweepIds.map((sweepId, place) => [sweepId, place]));
  const beginOf = ({ firstBadSweepId }: ReportedOfCell): number => placeOf.get(firstBadSweepId) ?? Number.NaN;
  const open = [...then];
  const both = today.map((change): Rejudged => {
    const same = open.findIndex(
      (reported) =>
        reported.cellKey === change.cellKey &&
        reported.metric === change.metric &&
        reported.direction === change.direction &&
        Math.abs(beginOf(reported) - beginOf(change)) <= ALERTING.sameNights,
    );
    const [found] = same === -1 ? [] : open.splice(same, 1);
    return { ...change, reportedToday: change.reportedSweepId, reportedThen: found?.reportedSweepId ?? null };
  });
  return [
    ...both,
    ...open.map((reported): Rejudged => ({ ...reported, reportedToday: null, reportedThen: reported.reportedSweepId })),
  ];
}
