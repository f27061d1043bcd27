import { findChangePoints } from '../../judge/history/change-points.ts';
import type { Finding } from '../../records/finding.ts';
import type { CellKey } from '../../records/scalars.ts';
import { type CellSeries, nightlyValues, type SeriesSweep } from './cell-series.ts';

/** Places in the series, by cell: the first sweep at a new level. */
export type RealChanges = ReadonlyMap<CellKey, readonly number[]>;

/**
 * Where cells really changed: as their histories show it, and as findings say that stand.
 * @param sweeps oldest first
 */
export function realChanges(
  series: readonly CellSeries[],
  sweeps: readonly Pick<SeriesSweep, 'sweepId'>[],
  findings: readonly Pick<Finding, 'cause' | 'cells' | 'kind' | 'state' | 'firstBadSweepId'>[],
): RealChanges {
  const places = new Map(sweeps.map(({ sweepId }, place) => [sweepId, place]));
  const known = findings
    .filter(({ cause, kind, state }) => kind !== 'limit' && state === 'open' && cause !== 'machine')
    .flatMap(({ cells, firstBadSweepId }) => cells.map(({ cellKey }) => ({ cellKey, firstBadSweepId })));
  const real = Map.groupBy(known, ({ cellKey }) => cellKey);
  return new Map(
    series.map(({ cell: { key }, sweeps: own }) => [
      key,
      [
        ...findChangePoints(nightlyValues(own)).map(({ night }) => night),
        ...(real.get(key) ?? []).flatMap(({ firstBadSweepId }) => places.get(firstBadSweepId) ?? []),
      ],
    ]),
  );
}

/** Whether one of the changes may lie between a sweep and the one before it: their places are known to one sweep. */
export function liesBetween(changes: readonly number[], place: number): boolean {
  return changes.some((change) => Math.abs(change - place) <= 1);
}
