import type { Finding } from '../../records/finding.ts';
import { metricOf } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import { directionOf } from '../history/change-points.ts';
import { lastingChanges } from '../history/lasting-changes.ts';
import { ALERTING } from '../history/settings.ts';
import type { CellNights } from './cell-nights.ts';
import type { CellKey } from '../../records/scalars.ts';

/** A change as today's rules report it, as it was reported then, or both. Nights are places among the sweeps. */
export interface Rejudged {
  readonly cellKey: CellKey;
  readonly direction: Finding['direction'];
  /** First sweep at the new level. */
  readonly night: number;
  readonly changePercent: number;
  /** Null: not reported by today's rules. */
  readonly reportedToday: number | null;
  /** Null: it was not reported then. */
  readonly reportedThen: number | null;
}

/** A finding, with the change of this cell. */
export type ReportedThen = Pick<Finding, 'direction' | 'firstBadSweepId' | 'reportedSweepId'> &
  Pick<Finding['cells'][number], 'changePercent'>;

/** Lives through the nights of one cell again, and compares what is reported with what was reported. @param then of this cell */
export function rejudgeCell(
  { cell, metric, history }: CellNights,
  sweeps: readonly Sweep[],
  then: readonly ReportedThen[],
): Rejudged[] {
  const placeOf = new Map(sweeps.map(({ sweepId }, night) => [sweepId, night]));
  const open = [...then];
  const today = lastingChanges(history).map((change): Rejudged => {
    const direction = directionOf(change.shift, metricOf(metric).betterIs);
    const same = open.findIndex(
      (finding) =>
        finding.direction === direction &&
        Math.abs((placeOf.get(finding.firstBadSweepId) ?? Number.NaN) - change.night) <= ALERTING.sameNights,
    );
    const [found] = same === -1 ? [] : open.splice(same, 1);
    return {
      cellKey: cell.key,
      direction,
      night: change.night,
      changePercent: percentOfLog(change.shift),
      reportedToday: change.knownAt,
      reportedThen: found === undefined ? null : (placeOf.get(found.reportedSweepId) ?? null),
    };
  });
  const onlyThen = open.map((finding): Rejudged => ({
    cellKey: cell.key,
    direction: finding.direction,
    night: placeOf.get(finding.firstBadSweepId) ?? 0,
    changePercent: finding.changePercent,
    reportedToday: null,
    reportedThen: placeOf.get(finding.reportedSweepId) ?? null,
  }));
  return [...today, ...onlyThen].toSorted((a, b) => a.night - b.night);
}
