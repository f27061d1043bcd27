import { EngineIndex, engineName } from '../../../engines/engine-index.ts';
import { enginesFolderOf } from '../../../artefacts/layout.ts';
import type { SideName } from './commit-side.ts';
import type { Pair } from './pair.ts';
import type { BothPlans, PlannedSide } from './plan-both.ts';
import {
  cellsToRepeat,
  type GrowingCell,
  growingCell,
  highestRepeat,
  newestRun,
  plannedRunS,
  type RoundRun,
} from '../../../judge/adaptive-repeats.ts';
import { BUILD_ESTIMATE_S } from '../../../matrix/plan/assign-gpus.ts';
import type { KeyedCell } from '../../../records/cell.ts';
import { type MetricId, gateMetric, isOfBuild } from '../../../records/metric.ts';
import type { PlannedCell } from '../../../records/plan.ts';
import type { OpenStore } from '../../../store/file/open.ts';
import { cellRunsOf } from '../../../store/runs/cell-runs.ts';
import { engineKeysOf } from '../../../store/runs/runs.ts';
import { pastRunsOf } from '../../../store/runs/time-estimates.ts';
import { sweepsAtCommit } from '../../../store/sweeps/find-sweeps.ts';
import { count, formatDuration } from '../../../terminal/numbers.ts';

/** A cell with the timed runs of both sides so far. */
export interface PairedCell {
  readonly cell: KeyedCell;
  readonly base: readonly RoundRun[];
  readonly head: readonly RoundRun[];
  /** Runs that a side can have; infinite for a real trtexec. */
  readonly capacity: number;
  /** Wall time of another run of both sides, seconds. */
  readonly roundS: number;
}

export interface Enough {
  /** Rounds that every cell gets. */
  readonly repeats: number;
  readonly maxRepeats: number;
  /** Cells are repeated until a change of this size would be detected. */
  readonly percent: number;
  /** Null: of each cell its own. */
  readonly metric: MetricId | null;
}

/** Rounds that a cell has on both sides. */
export function roundsOf({ base, head }: Pick<PairedCell, 'base' | 'head'>): number {
  return Math.min(highestRepeat(base), highestRepeat(head));
}

/** The cells of the next round, those that gain most for their time first; empty when enough is known. */
export function nextRound(cells: readonly PairedCell[], enough: Enough): PairedCell[] {
  const { maxRepeats, metric, percent, repeats } = enough;
  const first = cells.filter((cell) => roundsOf(cell) < Math.min(repeats, cell.capacity));
  if (first.length > 0) return first;
  const grown = cells.flatMap((cell) => growing(cell, metric));
  const look = 1 + Math.max(0, ...cells.map(roundsOf)) - repeats;
  const { open, limitedByNights } = cellsToRepeat(grown, Math.max(1, look), { percent, deviations: 0 });
  const byKey = new Map(cells.map((cell) => [cell.cell.key, cell]));
  // Both sides have the same night: what looks like one is the scatter of few runs, which more of them settle.
  return [...open, ...limitedByNights].flatMap((key) => {
    const cell = byKey.get(key);
    return cell !== undefined && roundsOf(cell) < Math.min(maxRepeats, cell.capacity) && !hasFailed(cell) ? [cell] : [];
  });
}

/** Empty where there is nothing to learn from more runs. */
function growing({ cell, base, head, roundS }: PairedCell, requested: MetricId | null): GrowingCell[] {
  const metric = gateMetric(requested, cell);
  // Both sides are measured in turns: what differs from sweep to sweep is on both.
  const grown = growingCell(cell, metric, [base, head], () => [], roundS);
  return grown.base.length === 0 || grown.head.length === 0 || isOfBuild(metric) ? [] : [grown];
}

function hasFailed({ base, head }: PairedCell): boolean {
  return [base, head].some((side) => newestRun(side)?.outcome.kind === 'failed');
}

/** A replayed run takes no time to speak of. */
const REPLAY_S = 0.1;

export function pairedCells(store: OpenStore, pair: Pair, { base, head }: Pick<BothPlans, SideName>): PairedCell[] {
  const { plan, program } = head.planned;
  const keys = plan.cells.map(({ cell }) => cell.key);
  const { runS } = pastRunsOf(store.db, keys, program.provenance);
  const secondsOf = (key: string): number => {
    if (program.recordings !== null) return REPLAY_S;
    return runS.get(key) ?? plannedRunS(plan, key);
  };
  return cellsOf(store, pair, plan.cells).map((each) => {
    const { key } = each.cell;
    const capacity = Math.min(base.planned.capacity(key), head.planned.capacity(key));
    return { ...each, capacity, roundS: 2 * secondsOf(key) };
  });
}

export function cellsOf(
  { db }: OpenStore,
  pair: Pair,
  cells: readonly PlannedCell[],
): Omit<PairedCell, 'capacity' | 'roundS'>[] {
  const keys = cells.map(({ cell }) => cell.key);
  const runs = cellRunsOf(db, [pair.base, pair.head], keys).filter(({ role }) => role === 'timed');
  const bySide = Map.groupBy(runs, ({ cellKey, sweepId }) => `${sweepId} ${cellKey}`);
  return cells.map(({ cell }) => ({
    cell,
    base: bySide.get(`${pair.base} ${cell.key}`) ?? [],
    head: bySide.get(`${pair.head} ${cell.key}`) ?? [],
  }));
}

/** What a measurement will take, from the estimates of the plans and earlier runs. */
export async function costText(
  store: OpenStore,
  sides: readonly PlannedSide[],
  cells: readonly PairedCell[],
  { maxRepeats, repeats }: Enough,
  gpus: number,
  budgetS: number | null,
): Promise<string[]> {
  const engines = await Promise.all(sides.map((each) => enginesOf(store, each)));
  const toBuild = engines.reduce((sum, { missing }) => sum + missing, 0);
  const seconds = (rounds: number): number =>
    cells.reduce((sum, cell) => {
      const left = Math.max(0, Math.min(rounds, cell.capacity) - roundsOf(cell));
      return sum + left * cell.roundS;
    }, 0) / gpus;
  const buildsS = sides.some(({ planned }) => planned.program.recordings === null) ? toBuild * BUILD_ESTIMATE_S : 0;
  const least = buildsS + seconds(repeats);
  const most = Math.min(buildsS + seconds(Math.max(repeats, maxRepeats)), Math.max(least, budgetS ?? Infinity));
  const runs = maxRepeats > repeats ? `${repeats} to ${maxRepeats} runs` : count(repeats, 'run');
  const stored = cells.reduce((sum, { base, head }) => sum + base.length + head.length, 0);
  const cached = engines.reduce((sum, { known }) => sum + known, 0);
  return [
    [
      `${count(cells.length, 'cell')}, ${runs} of each on both sides`,
      `${count(toBuild, 'engine')} to build${cached === 0 ? '' : `, ${cached} in the cache`}`,
      `about ${formatDuration(least)}${most > least ? `, at most ${formatDuration(most)}` : ''}`,
    ].join(' · '),
    ...(stored === 0 ? [] : [`${count(stored, 'run is', 'runs are')} stored from before; --force measures all again`]),
  ];
}

/** Engines of the plan that the cache has from when the same commit was measured before. */
async function enginesOf({ db, path }: OpenStore, { planned, side }: PlannedSide) {
  const needed = planned.plan.builds.filter(({ enginePath }) => enginePath === null).length;
  const keys = planned.plan.cells.map(({ cell }) => cell.key);
  const made = sweepsAtCommit(db, side.git.commit ?? '').flatMap(({ sweepId }) => engineKeysOf(db, sweepId, keys));
  const { links } = await new EngineIndex(enginesFolderOf(path)).read();
  const known = Math.min(needed, [...new Set(made)].filter((key) => links[engineName(key, 1)] !== undefined).length);
  return { known, missing: needed - known };
}
