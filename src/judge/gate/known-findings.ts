import type { Finding } from '../../records/gate-finding.ts';
import type { GatedMetricId } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import { ALERTING } from '../history/settings.ts';
import type { CellChange } from './cell-change.ts';
import type { CellWords } from './cell-words.ts';

/** A finding that was reported before, and the place of its first bad sweep: -1 for one before the first sweep known. */
export interface KnownFinding {
  readonly finding: Finding;
  readonly place: number;
}

const OVER: readonly Finding['state'][] = ['cleared', 'recovered'];

/** What was reported before the judged sweep. */
export class KnownFindings {
  readonly all: readonly KnownFinding[];
  private readonly places: ReadonlyMap<string, number>;
  private readonly byCell: ReadonlyMap<CellKey, readonly KnownFinding[]>;

  constructor(findings: readonly Finding[], sweeps: readonly Sweep[]) {
    this.places = new Map(sweeps.map(({ sweepId }, place) => [sweepId, place]));
    this.all = findings.map((finding) => ({ finding, place: this.placeOf(finding.firstBadSweepId) }));
    const entries = this.all.flatMap((known) => [...keysOf(known.finding)].map((key) => ({ key, known })));
    this.byCell = new Map(
      [...Map.groupBy(entries, ({ key }) => key)].map(([key, own]) => [key, own.map(({ known }) => known)]),
    );
  }

  placeOf(sweepId: string): number {
    return this.places.get(sweepId) ?? -1;
  }

  /**
   * For the history of a metric: places of what was reported of it, and how many reports of the cell were wrong.
   * @param reopened findings that are to be reported anew
   */
  ofMetric(cellKey: CellKey, metric: GatedMetricId, reopened: ReadonlySet<string>) {
    const own = this.byCell.get(cellKey) ?? [];
    const isReported = ({ finding }: KnownFinding): boolean =>
      !reopened.has(finding.findingId) &&
      ['confirmed', 'open', 'recovered'].includes(finding.state) &&
      finding.cells.some((cell) => cell.cellKey === cellKey && cell.metric === metric);
    return {
      reported: own.filter(isReported).map(({ place }) => place),
      wrongBefore: own.filter(({ finding }) => finding.state === 'cleared' || finding.state === 'machine').length,
    };
  }

  /** Where the newest level of a cell began, as far as findings say; 0 where none does. */
  newestPlace(cellKey: CellKey): number {
    const lasting = (this.byCell.get(cellKey) ?? []).filter(({ finding }) =>
      ['confirmed', 'open', 'recovered'].includes(finding.state),
    );
    return Math.max(0, ...lasting.map(({ place }) => place));
  }

  /** In which sweeps a cell was slow because of the machine. */
  machinePlaces(cellKey: CellKey): number[] {
    return (this.byCell.get(cellKey) ?? [])
      .filter(({ finding }) => finding.state === 'machine')
      .map(({ finding }) => this.placeOf(finding.reportedSweepId));
  }

  /** The finding that a change is part of: same direction, about the same place, one of its cells or of its group. */
  covering(change: CellChange, words: CellWords): KnownFinding | null {
    const isSame = ({ finding, place }: KnownFinding): boolean => {
      if (finding.kind === 'limit' || finding.direction !== change.direction) return false;
      const most = OVER.includes(finding.state) ? ALERTING.moveNights : ALERTING.sameNights;
      if (Math.abs(place - change.place) > most) return false;
      return (
        finding.cells.some(({ cellKey }) => cellKey === change.cellKey) || words.hasAll(change.cellKey, finding.group)
      );
    };
    return this.all.find(isSame) ?? null;
  }
}

function keysOf({ cells }: Finding): Set<CellKey> {
  return new Set(cells.map(({ cellKey }) => cellKey));
}
