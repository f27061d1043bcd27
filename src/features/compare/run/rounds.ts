import { EngineIndex, engineName } from '../../../engines/engine-index.ts';
import { enginesFolderOf } from '../../../artefacts/layout.ts';
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
import { engineKeysOf } from '../../../store/runs/runs.ts';
import { pastRunsOf } from '../../../store/runs/time-estimates.ts';
import { sweepsAtCommit } from '../../../store/sweeps/find-sweeps.ts';
import { type Enough, type GrowingRuns, undecided } from '../../run/index.ts';
import { count, formatDuration } from '../../../terminal/numbers.ts';

/** A cell with its timed runs of both sides so far. */
export type PairedCell = GrowingRuns;

/** The cells of the next round, most useful for their time first; empty when all cells have enough runs. */
export function nextRound(cells: readonly PairedCell[], enough: Enough): PairedCell[] {
  const first = cells.filter(({ capacity, rounds }) => rounds < Math.min(enough.repeats, capacity));
  if (first.length > 0) return first;
  const { open, limited } = undecided(
    cells.filter(({ cell }) => !isOfBuild(gateMetric(enough.metric, cell))),
    enough,
  );
  // Both sides share their sweep conditions. Apparent sweep-to-sweep noise is the noise of few runs, so that more runs
  // help.
  return [...open, ...limited];
}

/** A replayed run takes almost no time. */
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

/**
 * @param capacityOf available rounds of a cell, by key
 * @param roundSOf seconds per round, by key
 */
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

/** @param roundS wall time of another run of both sides, in seconds */
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

/** The expected duration of a measurement, from the estimates of the plans and earlier runs. */
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
      const left = Math.max(0, Math.min(rounds, cell.capacity) - cell.rounds);
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

/** Counts engines of the plan that the cache has from an earlier measurement of the same commit. */
async function enginesOf({ db, path }: OpenStore, { planned, side }: PlannedSide) {
  const needed = planned.plan.builds.filter(({ enginePath }) => enginePath === null).length;
  const keys = planned.plan.cells.map(({ cell }) => cell.key);
  const made = sweepsAtCommit(db, side.git.commit ?? '').flatMap(({ sweepId }) => engineKeysOf(db, sweepId, keys));
  const { links } = await new EngineIndex(enginesFolderOf(path)).read();
  const known = Math.min(needed, [...new Set(made)].filter((key) => links[engineName(key, 1)] !== undefined).length);
  return { known, missing: needed - known };
}
