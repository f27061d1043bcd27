import type { CellKey } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import { median } from '../../statistics/median.ts';
import { ALERTING } from '../history/settings.ts';
import { type CellChange, changePercentOf } from './cell-change.ts';
import { CALMEST, type CellWords } from './cell-words.ts';
import type { MetricHistory } from './evidence.ts';
import type { YoungSuspect } from './few-sweeps.ts';
import { isBeyondAccepted, type KnownFindings } from './known-findings.ts';
import type { WeighedCell } from './next-state.ts';
import type { Candidate } from './verdict.ts';

/** Levels in the window from which a cell counts as one with known states. */
const RESTLESS_LEVELS = 3;
const LEVEL_SWEEPS = 7;
/** Off by this many standard deviations where only a comparison says so: less is worth no pairs. */
const CALLED_DEVIATIONS = 3;

interface Around {
  readonly known: KnownFindings;
  readonly words: CellWords;
  readonly sweeps: readonly Sweep[];
}

/**
 * Cells off their level for the worse. What needs no pairs, or was reported already, is none. A cell goes by its own metric
 * where that is off.
 * @param young cells without a history that lie off
 * @param changes of single cells in the judged sweep
 * @param ofGroups groups that moved together
 * @returns `candidates`: groups before cells, the farthest off first; `moved`: single cells, also those that are too little off to be one
 */
export function candidatesOf(
  cells: readonly WeighedCell[],
  young: readonly YoungSuspect[],
  changes: readonly CellChange[],
  ofGroups: readonly Candidate[],
  around: Around,
): { readonly candidates: readonly Candidate[]; readonly moved: readonly Candidate[] } {
  const byKey = new Map(cells.map((cell) => [cell.evidence.cell.key, cell]));
  const byHistory = cells.flatMap(({ evidence, histories }) =>
    [...histories.values()].flatMap(({ metric, worseDeviations }): YoungSuspect[] =>
      worseDeviations === null ? [] : [{ cellKey: evidence.cell.key, metric, deviations: worseDeviations }],
    ),
  );
  const called = changes
    .filter(({ confirmedBy, direction }) => direction === 'slower' && confirmedBy !== 'measured')
    .map(({ cellKey, margin, metric }): YoungSuspect => ({
      cellKey,
      metric,
      deviations: Math.max(CALLED_DEVIATIONS, margin),
    }));
  const isOwn = ({ cellKey, metric }: YoungSuspect): boolean =>
    byKey.get(cellKey)?.evidence.metrics[0]?.metric === metric;
  const singles = (suspects: readonly YoungSuspect[]): Candidate[] => {
    // The last of a cell counts: its own metric, where that is off.
    const all = [...called, ...byHistory, ...suspects].toSorted(
      (a, b) => Number(isOwn(a)) - Number(isOwn(b)) || a.deviations - b.deviations,
    );
    const chosen = new Map(all.map((suspect) => [suspect.cellKey, suspect]));
    return [...chosen.values()].flatMap((suspect) => asCandidate(suspect, byKey.get(suspect.cellKey), around) ?? []);
  };
  const open = singles(young.filter(({ deviations }) => deviations >= CALLED_DEVIATIONS)).filter(
    ({ cellKeys }) => !ofGroups.some(({ group }) => cellKeys.every((key) => around.words.hasAll(key, group))),
  );
  const { groups, others } = grouped(open, around.words);
  const candidates = [[...ofGroups, ...groups], others].flatMap((part) =>
    part.toSorted((a, b) => b.deviations - a.deviations),
  );
  return { candidates, moved: singles(young) };
}

/** The three calmest cells of each group speak for it. */
function grouped(single: readonly Candidate[], words: CellWords) {
  const ofCell = new Map(single.flatMap((one) => one.cellKeys.map((key) => [key, one] as const)));
  const found = words.groupsAmong(new Set(ofCell.keys()));
  const inGroups = new Set(found.flatMap(({ keys }) => [...keys]));
  const groups = found.flatMap(({ group, keys }): Candidate[] => {
    const own = [...keys].flatMap((key) => ofCell.get(key) ?? []);
    const calmest = own.toSorted((a, b) => noiseOf(a) - noiseOf(b)).slice(0, CALMEST);
    const [first] = calmest;
    if (first === undefined) return [];
    const middle = (of: (one: Candidate) => number): number => median(own.map(of)) ?? 0;
    return [
      {
        ...first,
        group,
        cellKeys: calmest.flatMap(({ cellKeys }) => cellKeys),
        changePercent: middle(({ changePercent }) => changePercent),
        deviations: middle(({ deviations }) => deviations),
        isUnsteady: calmest.some(({ isUnsteady }) => isUnsteady),
      },
    ];
  });
  return { groups, others: [...ofCell].flatMap(([key, one]) => (inGroups.has(key) ? [] : [one])) };
}

/** In percent. */
export function noiseOf({ changePercent, deviations }: Candidate): number {
  return Math.abs(changePercent) / deviations;
}

function asCandidate(
  { cellKey, deviations, metric }: YoungSuspect,
  cell: WeighedCell | undefined,
  { known, sweeps }: Around,
): Candidate | null {
  const measured = cell?.evidence.metrics.find((each) => each.metric === metric);
  const now = measured?.history.values.at(-1);
  if (cell === undefined || measured === undefined || now === undefined) return null;
  if (isReported(cellKey, now, metric, known, sweeps.length - 1)) return null;
  const before = median([...measured.history.values].slice(-1 - LEVEL_SWEEPS, -1));
  const suspected = known.ofCell(cellKey).find(({ finding }) => finding.state === 'suspected')?.finding;
  return {
    group: [],
    cellKeys: [cellKey],
    metric,
    changePercent: before === null ? 0 : changePercentOf(metric, { before, after: now }),
    deviations,
    lastGoodSweepId: suspected?.lastGoodSweepId ?? sweeps[measured.history.nights.at(-2) ?? -1]?.sweepId ?? null,
    isUnsteady:
      [...cell.histories.values()].some(({ seen }) => seen.length >= RESTLESS_LEVELS) || hasUnlikeBuilds(measured),
  };
}

/** As long as a reported change is no level of its own, it is why the cell is off, unless it got worse. */
function isReported(cellKey: CellKey, now: number, metric: CellChange['metric'], known: KnownFindings, judged: number) {
  return known.ofCell(cellKey).some(({ finding, place }) => {
    const isYoung = place >= 0 && judged - place <= ALERTING.freshNights;
    const isLasting = finding.state === 'confirmed' || finding.state === 'open';
    return (
      isYoung &&
      isLasting &&
      finding.direction === 'slower' &&
      !isBeyondAccepted(finding, { after: now, cellKey, metric })
    );
  });
}

/** Builds of the same sources differed before: their tactics may differ again. */
function hasUnlikeBuilds({ history: { builds = [], sources = [] } }: MetricHistory): boolean {
  const last = sources.at(-1) ?? null;
  if (last === null) return false;
  const same = new Set(builds.slice(0, -1).filter((_, place) => sources[place] === last));
  return same.size > 1;
}
