import type { Finding } from '../../records/finding.ts';
import type { GatedMetricId } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';

/** A finding of an earlier sweep, with the places of its sweeps: -1 for one before the first known. */
export interface PlacedFinding {
  readonly finding: Finding;
  readonly place: number;
  readonly lastPlace: number;
  readonly reportedPlace: number;
}

/** Changes of cells: a broken limit says nothing of where a level began. */
export function placeFindings(findings: readonly Finding[], sweeps: readonly Sweep[]): PlacedFinding[] {
  const places = new Map(sweeps.map(({ sweepId }, place) => [sweepId, place]));
  return findings
    .filter(({ kind }) => kind !== 'limit')
    .map((finding) => {
      const place = places.get(finding.firstBadSweepId) ?? -1;
      return {
        finding,
        place,
        lastPlace: Math.max(place, places.get(finding.lastBadSweepId ?? '') ?? place),
        reportedPlace: places.get(finding.reportedSweepId) ?? -1,
      };
    });
}

export function hasCell({ cells }: Finding, cellKey: CellKey, metric?: GatedMetricId): boolean {
  return cells.some((cell) => cell.cellKey === cellKey && (metric === undefined || cell.metric === metric));
}

/**
 * Places that are part of no level of a cell: the machine was slow, or pairs took back what was chance.
 * @param judged place of the judged sweep, of which nothing is known yet
 */
export function excludedPlaces(known: readonly PlacedFinding[], cellKey: CellKey, judged: number): ReadonlySet<number> {
  const own = known.filter(({ finding }) => hasCell(finding, cellKey) && isOutsideLevels(finding));
  const places = own.flatMap(({ lastPlace, place }) =>
    Array.from({ length: Math.max(0, lastPlace - Math.max(0, place) + 1) }, (_, at) => Math.max(0, place) + at),
  );
  return new Set(places.filter((place) => place < judged));
}

function isOutsideLevels({ cause, pairs }: Finding): boolean {
  return cause === 'machine' || pairs?.outcome === 'cleared';
}
