import type { PlannedCell } from '../../../records/plan.ts';
import type { OpenStore } from '../../../store/file/open.ts';
import { cellRunsOf } from '../../../store/runs/cell-runs.ts';
import { pastRunsOf } from '../../../store/runs/time-estimates.ts';
import type { SideName } from './commit-side.ts';
import type { Pair } from './pair.ts';
import type { BothPlans } from './plan-both.ts';
import type { PairedCell } from './rounds.ts';

/** A replayed run takes no time to speak of. */
const REPLAY_S = 0.1;

export function pairedCells(store: OpenStore, pair: Pair, { base, head }: Pick<BothPlans, SideName>): PairedCell[] {
  const { plan, program } = head.planned;
  const keys = plan.cells.map(({ cell }) => cell.key);
  const { runS } = pastRunsOf(store.db, keys, program.provenance);
  const secondsOf = (key: string): number => {
    if (program.recordings !== null) return REPLAY_S;
    return runS.get(key) ?? plan.runs.find(({ cellKey }) => cellKey === key)?.estimateS ?? 1;
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
