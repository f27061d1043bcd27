import type { Sweep } from '../../records/sweep.ts';
import { median } from '../../statistics/median.ts';
import { type CellChange, changePercentOf } from './cell-change.ts';
import type { MetricHistory } from './evidence.ts';
import type { YoungSuspect } from './few-sweeps.ts';
import type { WeighedCell } from './next-state.ts';
import type { Candidate } from './verdict.ts';

/** Levels in the window from which a cell counts as one with known states. */
const RESTLESS_LEVELS = 3;
const LEVEL_SWEEPS = 7;
/** Off by this many standard deviations where only a comparison says so. */
const CALLED_DEVIATIONS = 3;

/**
 * Cells off their level for the worse, the farthest off first. What needs no pairs, or is no longer news, is none.
 * @param changes of the judged sweep
 * @param suspects cells without a history that a comparison does not call
 */
export function candidatesOf(
  cells: readonly WeighedCell[],
  suspects: readonly YoungSuspect[],
  changes: readonly CellChange[],
  sweeps: readonly Sweep[],
): Candidate[] {
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
  const all = [...byHistory, ...called, ...suspects].toSorted((a, b) => a.deviations - b.deviations);
  const farthest = new Map(all.map((suspect) => [suspect.cellKey, suspect]));
  return [...farthest.values()]
    .flatMap((suspect) => asCandidate(suspect, byKey.get(suspect.cellKey), sweeps) ?? [])
    .toSorted((a, b) => b.deviations - a.deviations);
}

function asCandidate(
  { cellKey, deviations, metric }: YoungSuspect,
  cell: WeighedCell | undefined,
  sweeps: readonly Sweep[],
): Candidate | null {
  const measured = cell?.evidence.metrics.find((each) => each.metric === metric);
  const now = measured?.history.values.at(-1);
  if (cell === undefined || measured === undefined || now === undefined) return null;
  const before = median([...measured.history.values].slice(-1 - LEVEL_SWEEPS, -1));
  return {
    group: [],
    cellKeys: [cellKey],
    metric,
    changePercent: before === null ? 0 : changePercentOf(metric, { before, after: now }),
    deviations,
    lastGoodSweepId: sweeps[measured.history.nights.at(-2) ?? -1]?.sweepId ?? null,
    isUnsteady:
      [...cell.histories.values()].some(({ seen }) => seen.length >= RESTLESS_LEVELS) || hasUnlikeBuilds(measured),
  };
}

/** Builds of the same sources differed before: their tactics may differ again. */
function hasUnlikeBuilds({ history: { builds = [], sources = [] } }: MetricHistory): boolean {
  const last = sources.at(-1) ?? null;
  if (last === null) return false;
  const same = new Set(builds.slice(0, -1).filter((_, place) => sources[place] === last));
  return same.size > 1;
}
