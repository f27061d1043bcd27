import type { SideName } from './commit-side.ts';
import type { Pair } from './pair.ts';
import type { BothPlans, PlannedSide } from './plan-both.ts';
import { highestRepeat, newestRun, plannedRunS } from '../../../judge/adaptive-repeats.ts';
import { BUILD_ESTIMATE_S } from '../../../matrix/plan/assign-gpus.ts';
import type { KeyedCell } from '../../../records/cell.ts';
import { gateMetric, isOfBuild } from '../../../records/metric.ts';
import type { PlannedCell } from '../../../records/plan.ts';
import type { OpenStore } from '../../../store/file/open.ts';
import { isMeasured } from '../../../records/run.ts';
import type { CellKey } from '../../../records/scalars.ts';
import { cellRunsOf } from '../../../store/runs/cell-runs.ts';
import { pastRunsOf } from '../../../store/runs/time-estimates.ts';
import { type Enough, type GrowingRuns, undecided } from '../../run/index.ts';
import { count, formatDuration } from '../../../terminal/numbers.ts';

/** A cell with the timed runs of both sides so far. */
export type PairedCell = GrowingRuns;

/** The cells of the next round, those that gain most for their time first; empty when enough is known. */
export function nextRound(cells: readonly PairedCell[], enough: Enough): PairedCell[] {
  const first = cells.filter(({ capacity, rounds }) => rounds < Math.min(enough.repeats, capacity));
  if (first.length > 0) return first;
  const { open, limited } = undecided(
    cells.filter(({ cell }) => !isOfBuild(gateMetric(enough.metric, cell))),
    enough,
  );
  // Both sides have the same night: what looks like one is the scatter of few runs, which more of them settle.
  return [...open, ...limited];
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
  return cellsOf(
    store,
    pair,
    plan.cells,
    (key) => Math.min(base.planned.capacity(key), head.planned.capacity(key)),
    (key) => 2 * secondsOf(key),
  );
}

/** @param capacityOf rounds that a cell can have, and `roundSOf` what one takes, by key */
export function cellsOf(
  { db }: OpenStore,
  pair: Pair,
  cells: readonly PlannedCell[],
  capacityOf: (key: CellKey) => number,
  roundSOf: (key: CellKey) => number = () => 1,
): PairedCell[] {
  const keys = cells.map(({ cell }) => cell.key);
  const runs = cellRunsOf(db, [pair.base, pair.head], keys).filter(({ role }) => role === 'timed');
  const bySide = Map.groupBy(runs, ({ cellKey, sweepId }) => `${sweepId} ${cellKey}`);
  return cells.map(({ cell }) => {
    const [base = [], head = []] = [pair.base, pair.head].map((side) => bySide.get(`${side} ${cell.key}`));
    return pairedCell(cell, base, head, capacityOf(cell.key), roundSOf(cell.key));
  });
}

/** @param roundS wall time of another run of both sides, seconds */
export function pairedCell(
  cell: KeyedCell,
  base: PairedCell['base'],
  head: PairedCell['head'],
  capacity: number,
  roundS: number,
): PairedCell {
  const sides = [base, head];
  const isOver = sides.some((side) => newestRun(side)?.outcome.kind === 'failed' || !side.some(isMeasured));
  return { cell, base, head, capacity, roundS, rounds: Math.min(...sides.map(highestRepeat)), isOver };
}

/** What a measurement will take at most, from the estimates of the plans and earlier runs. */
export function costText(
  sides: readonly PlannedSide[],
  cells: readonly PairedCell[],
  { maxRepeats, repeats }: Enough,
  gpus: number,
  budgetS: number | null,
): string {
  const seconds = (rounds: number): number =>
    cells.reduce((sum, cell) => {
      const left = Math.max(0, Math.min(rounds, cell.capacity) - cell.rounds);
      return sum + left * cell.roundS;
    }, 0) / gpus;
  const toBuild = sides.flatMap(({ planned: { plan, program } }) =>
    program.recordings === null ? plan.builds.filter(({ enginePath }) => enginePath === null) : [],
  );
  const least = toBuild.length * BUILD_ESTIMATE_S + seconds(repeats);
  const all = toBuild.length * BUILD_ESTIMATE_S + seconds(Math.max(repeats, maxRepeats));
  const most = Math.min(all, Math.max(least, budgetS ?? Infinity));
  const runs = maxRepeats > repeats ? `${repeats} to ${maxRepeats} runs` : count(repeats, 'run');
  const time = `about ${formatDuration(least)}${most > least ? `, at most ${formatDuration(most)}` : ''}`;
  return `${count(cells.length, 'cell')}, ${runs} of each on both sides · ${time}`;
}
