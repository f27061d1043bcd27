import type { Finding } from '../../records/finding.ts';
import type { SweepId } from '../../records/scalars.ts';
import { ALERTING } from '../history/settings.ts';

/** A finding, with the change of one of its cells. */
export type ToldOfCell = Pick<Finding, 'direction' | 'firstBadSweepId' | 'reportedSweepId'> & Finding['cells'][number];

/** A change as today's rules tell it, as it was reported then, or both. */
export interface Rejudged extends Pick<ToldOfCell, 'cellKey' | 'changePercent' | 'direction' | 'firstBadSweepId'> {
  /** Sweeps that reported it; null: today's rules do not, or it was not reported then. */
  readonly reportedToday: SweepId | null;
  readonly reportedThen: SweepId | null;
}

export function toldOfCells(findings: readonly Finding[]): ToldOfCell[] {
  const changes = findings.filter(({ kind }) => kind !== 'limit');
  return changes.flatMap((finding) => finding.cells.map((cell): ToldOfCell => ({ ...finding, ...cell })));
}

/** What today's rules tell next to what was told: the same change where it begins in about the same sweep. */
export function rejudge(
  today: readonly ToldOfCell[],
  then: readonly ToldOfCell[],
  sweepIds: readonly SweepId[],
): Rejudged[] {
  const placeOf = new Map(sweepIds.map((sweepId, place) => [sweepId, place]));
  const beginOf = ({ firstBadSweepId }: ToldOfCell): number => placeOf.get(firstBadSweepId) ?? Number.NaN;
  const open = [...then];
  const both = today.map((change): Rejudged => {
    const same = open.findIndex(
      (told) =>
        told.cellKey === change.cellKey &&
        told.metric === change.metric &&
        told.direction === change.direction &&
        Math.abs(beginOf(told) - beginOf(change)) <= ALERTING.sameNights,
    );
    const [found] = same === -1 ? [] : open.splice(same, 1);
    return { ...change, reportedToday: change.reportedSweepId, reportedThen: found?.reportedSweepId ?? null };
  });
  return [
    ...both,
    ...open.map((told): Rejudged => ({ ...told, reportedToday: null, reportedThen: told.reportedSweepId })),
  ];
}
