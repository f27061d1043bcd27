import { type Finding, isOver } from '../../records/finding.ts';
import type { GatedMetricId } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import { ALERTING, HISTORY } from '../history/settings.ts';
import { type CellChange, shareLeft } from './cell-change.ts';
import type { CellWords } from './cell-words.ts';

/** A finding that is known already. Places are those of its sweeps: -1 for one before the first sweep known. */
export interface KnownFinding {
  readonly finding: Finding;
  readonly place: number;
  /** The last bad sweep of one that is over, or the machine's. */
  readonly lastPlace: number;
  /** An earlier look at the judged sweep reported it: this look has to find it again. */
  readonly isOfThisSweep: boolean;
}

/** What was reported before: in earlier sweeps, and by an earlier look at the judged one. */
export class KnownFindings {
  readonly all: readonly KnownFinding[];
  private readonly places: ReadonlyMap<string, number>;
  private readonly byCell: ReadonlyMap<CellKey, readonly KnownFinding[]>;

  constructor(findings: readonly Finding[], sweeps: readonly Sweep[]) {
    this.places = new Map(sweeps.map(({ sweepId }, place) => [sweepId, place]));
    const judged = sweeps.at(-1)?.sweepId;
    this.all = findings.map((finding) => ({
      finding,
      place: this.placeOf(finding.firstBadSweepId),
      lastPlace: this.placeOf(finding.lastBadSweepId ?? finding.firstBadSweepId),
      isOfThisSweep: finding.reportedSweepId === judged,
    }));
    // A broken limit says nothing of where a level began.
    const changes = this.all.filter(({ finding }) => finding.kind !== 'limit');
    const entries = changes.flatMap((known) => [...keysOf(known.finding)].map((key) => ({ key, known })));
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
    const own = this.ofCell(cellKey);
    return {
      reported: this.reportedOf(cellKey, metric)
        .filter(({ finding }) => !reopened.has(finding.findingId))
        .map(({ place }) => place),
      wrongBefore: own.filter(isWrong).length,
    };
  }

  /** What earlier sweeps reported of a metric, whatever became of it. */
  reportedOf(cellKey: CellKey, metric: GatedMetricId): KnownFinding[] {
    return this.ofCell(cellKey).filter(
      ({ finding }) =>
        finding.confirmedBy !== null &&
        finding.cells.some((cell) => cell.cellKey === cellKey && cell.metric === metric),
    );
  }

  /** Where levels of a metric begin because of what was reported: with a change, and behind one that is over. */
  levelPlaces(cellKey: CellKey, metric: GatedMetricId): number[] {
    return this.reportedOf(cellKey, metric).flatMap(({ finding, lastPlace, place }) =>
      isOver(finding) ? [place, lastPlace + 1] : [place],
    );
  }

  /** Earlier findings of a cell, without those of limits. */
  ofCell(cellKey: CellKey): readonly KnownFinding[] {
    return (this.byCell.get(cellKey) ?? []).filter(({ isOfThisSweep }) => !isOfThisSweep);
  }

  /** Which sweeps are not at the level that is expected of a cell: before the newest change, or off it. */
  isUnexpected(cellKey: CellKey, metric: GatedMetricId): (place: number) => boolean {
    const since = this.reportedOf(cellKey, metric)
      .filter(({ finding }) => finding.state !== 'cleared')
      .map(({ finding, lastPlace, place }) => (finding.state === 'recovered' ? lastPlace + 1 : place));
    const from = Math.max(0, ...since);
    const off = this.ofCell(cellKey).filter(({ finding }) => finding.confirmedBy === null);
    return (place) =>
      place < from || off.some((one) => place >= one.place && (place <= one.lastPlace || isSuspected(one)));
  }

  /** A change for the better that only takes back what got worse: its finding says so. */
  takesBack(change: CellChange): boolean {
    if (change.direction === 'slower') return false;
    return (this.byCell.get(change.cellKey) ?? []).some(({ finding, place }) => {
      const cell = finding.cells.find(({ cellKey, metric }) => cellKey === change.cellKey && metric === change.metric);
      const isWorse = finding.direction === 'slower' && place < change.place;
      return isWorse && cell !== undefined && shareLeft(cell, change.after) < HISTORY.backShare;
    });
  }

  /** In how many earlier sweeps pairs cleared a cell. */
  clearedSweeps(cellKey: CellKey): number {
    return this.ofCell(cellKey)
      .filter(({ finding }) => finding.pairs?.outcome === 'cleared')
      .reduce((sum, { lastPlace, place }) => sum + Math.max(1, lastPlace - place + 1), 0);
  }

  /** In which earlier sweeps a cell was slow because of the machine. */
  machinePlaces(cellKey: CellKey): number[] {
    const judged = this.places.size - 1;
    return (this.byCell.get(cellKey) ?? []).flatMap(({ finding, isOfThisSweep, lastPlace, place }) => {
      // What became a finding of the environment in an earlier look at this sweep was the machine until then.
      const isMachine = finding.state === 'machine' || (isOfThisSweep && finding.kind === 'environment');
      if (!isMachine || place < 0) return [];
      return Array.from(
        { length: Math.max(0, Math.min(lastPlace, judged - 1) - place + 1) },
        (_, index) => place + index,
      );
    });
  }

  /**
   * The finding that a change is part of: same direction, about the same place, one of its cells or of its group. What was
   * acknowledged covers no change that is much worse; what is over, no later suspicion.
   */
  covering(change: CellChange, words: CellWords, acknowledged: ReadonlySet<string>): KnownFinding | null {
    const isSame = ({ finding, lastPlace, place }: KnownFinding): boolean =>
      finding.kind !== 'limit' &&
      !(finding.state === 'recovered' && change.confirmedBy === null && lastPlace < change.place) &&
      finding.direction === change.direction &&
      Math.abs(place - change.place) <= ALERTING.sameNights &&
      !(acknowledged.has(finding.findingId) && isBeyondAccepted(finding, change)) &&
      (finding.cells.some(({ cellKey }) => cellKey === change.cellKey) || words.hasAll(change.cellKey, finding.group));
    const same = this.all.filter(isSame);
    return same.find(({ finding }) => finding.confirmedBy !== null) ?? same[0] ?? null;
  }
}

/** A level worse by this share of the acknowledged change, and by this much in all, is a new regression. */
const WORSE_SHARE = 0.25;
const WORSE_LEAST = 0.01;

/** True where a value lies well beyond the level that a finding has of this cell and metric. */
export function isBeyondAccepted(
  finding: Finding,
  { after: now, cellKey, metric }: Pick<CellChange, 'after' | 'cellKey' | 'metric'>,
): boolean {
  const accepted = finding.cells.find((cell) => cell.cellKey === cellKey && cell.metric === metric);
  if (accepted === undefined || accepted.before <= 0 || accepted.after <= 0) return false;
  const change = Math.log(accepted.after / accepted.before);
  return Math.log(now / accepted.after) * Math.sign(change) > Math.max(WORSE_LEAST, WORSE_SHARE * Math.abs(change));
}

/** It was an alarm and none, or the machine's. What was suspected alone was never said to be a change. */
function isWrong({ finding }: KnownFinding): boolean {
  return finding.state === 'machine' || (finding.state === 'cleared' && finding.confirmedBy !== null);
}

/** As long as it is, its last bad sweep is not known. */
function isSuspected({ finding }: KnownFinding): boolean {
  return finding.state === 'suspected';
}

function keysOf({ cells }: Finding): Set<CellKey> {
  return new Set(cells.map(({ cellKey }) => cellKey));
}
