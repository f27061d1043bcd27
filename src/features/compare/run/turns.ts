import { enginesFolderOf } from '../../../files/layout.ts';
import type { Io } from '../../../cli/io.ts';
import { LiveProgress } from '../../../run/live-progress.ts';
import { highestRepeat, newestRun, plannedRunS, timeBudget, undecided } from '../../../judge/adaptive-repeats.ts';
import type { Enough, GrowingRuns } from '../../../judge/adaptive-repeats.ts';
import type { Machine } from '../../../machine/machine.ts';
import { BUILD_ESTIMATE_S } from '../../../matrix/plan/assign-gpus.ts';
import { inRounds } from '../../../matrix/plan/order.ts';
import type { KeyedCell } from '../../../records/cell.ts';
import { gateMetric, isOfBuild } from '../../../records/metric.ts';
import type { PlannedCell } from '../../../records/plan.ts';
import { isMeasured } from '../../../records/run.ts';
import type { CellKey } from '../../../records/scalars.ts';
import { COMPARE_BRANCH } from '../../../records/sweep.ts';
import { openWorkers } from '../../../run/gpu-worker.ts';
import { measureInTurns } from '../../../run/measure-in-turns.ts';
import { plannedSweep, storedPlanOf } from '../../../run/planned-sweep.ts';
import { inSweep, recordedOf, withLockedClocks } from '../../../run/run-sweep.ts';
import type { StoredPlan } from '../../../run/stored-plan.ts';
import type { Side, Turn } from '../../../run/sweep-context.ts';
import type { OpenStore } from '../../../store/file/open.ts';
import { cellRunsOf } from '../../../store/runs/cell-runs.ts';
import { pastRunsOf } from '../../../store/runs/time-estimates.ts';
import { count, formatDuration } from '../../../terminal/numbers.ts';
import { converterFor } from '../../../variants/converter.ts';
import type { SideName } from './commit-side.ts';
import type { BothPlans, MeasureOptions, Pair, PlannedSide } from './pair.ts';

/** How two sides are measured. */
export interface Comparing {
  readonly store: OpenStore;
  readonly pair: Pair;
  readonly options: MeasureOptions;
  readonly io: Io;
}

/**
 * Measures two sides in turns, round by round, until each cell has enough runs.
 * After Ctrl-C, the same call resumes.
 */
export async function measureSides(
  comparing: Comparing,
  sides: BothPlans,
  machines: readonly [Machine, ...Machine[]],
  gpus: StoredPlan['gpus'],
  enough: Enough,
): Promise<void> {
  const { io, options } = comparing;
  const { matrix, plan, program } = sides.head;
  const cellsNow = (): PairedCell[] => pairedCells(comparing, sides);
  const done = new Map(cellsNow().map(({ cell, rounds }) => [cell.key, rounds]));
  const runs = [sides.base, sides.head].flatMap((side) => side.plan.runs);
  const left = runs.filter(({ cellKey, repeat }) => repeat > (done.get(cellKey) ?? 0));
  const progress = new LiveProgress({ ...plan, runs: left }, program, io);
  try {
    await withLockedClocks(matrix.lockClocks, machines, program, io, async (locked) => {
      const base = await openSide(comparing, 'base', sides.base, locked, gpus, progress);
      const head = await openSide(comparing, 'head', sides.head, locked, gpus, progress);
      const measure = () =>
        measureInTurns([base, head], gpus?.cells ?? {}, () =>
          roundsOfSides({ base, head }, enough, timeBudget(options.budget ?? null, io.now), cellsNow),
        );
      await inSweep(base.workers, base.stored, () => inSweep(head.workers, head.stored, measure));
    });
  } finally {
    progress.end();
  }
}

interface OpenedSide extends Side {
  readonly stored: StoredPlan;
}

function* roundsOfSides(
  sides: Readonly<Record<SideName, OpenedSide>>,
  enough: Enough,
  fitting: ReturnType<typeof timeBudget>,
  cellsNow: () => PairedCell[],
): Generator<Turn[]> {
  // Cells whose round added no run, because their engine cannot be built.
  const stuck = new Set<CellKey>();
  for (;;) {
    const open = cellsNow().filter(({ cell }) => !stuck.has(cell.key));
    const wanted = nextRound(open, enough);
    const inTime = new Set(fitting(wanted, ({ roundS }) => roundS));
    const round = wanted.filter((cell) => inTime.has(cell) || cell.rounds < enough.repeats);
    if (round.length === 0) return;
    const before = new Map(round.map((cell) => [cell.cell.key, cell.rounds]));
    const turns = turnsOf(sides, before);
    const beyond = turns.flatMap(({ run }) => (run.repeat > enough.repeats ? [run] : []));
    if (beyond.length > 0) sides.head.workers[0].onEvent({ kind: 'moreRuns', runs: beyond });
    yield turns;
    for (const cell of cellsNow()) if (before.get(cell.cell.key) === cell.rounds) stuck.add(cell.cell.key);
  }
}

/**
 * Orders each cell as A B in one round and B A in the next.
 * @param before number of finished rounds of each cell in this round
 */
function turnsOf(sides: Readonly<Record<SideName, OpenedSide>>, before: ReadonlyMap<CellKey, number>): Turn[] {
  const { cells, seed } = sides.head.stored.plan;
  // Include all cells, so that each keeps its order regardless of the others in the round.
  const items = cells.flatMap(({ cell: { key } }) => [sides.base, sides.head].map((side) => ({ key, side })));
  const most = Math.max(...before.values()) + 1;
  return inRounds(items, most, seed, ({ key }) => key).flatMap(({ item: { key, side }, repeat }) => {
    const rounds = before.get(key);
    const planned = side.stored.plan.runs.find(({ cellKey }) => cellKey === key);
    const isNext = rounds !== undefined && repeat === rounds + 1;
    return isNext && planned !== undefined ? [{ side, run: { ...planned, repeat } }] : [];
  });
}

async function openSide(
  { io, options, pair, store }: Comparing,
  name: SideName,
  planned: PlannedSide,
  machines: readonly [Machine, ...Machine[]],
  gpus: StoredPlan['gpus'],
  progress: LiveProgress,
): Promise<OpenedSide> {
  const { matrix, plan, program, side } = planned;
  const converter = await converterFor(plan, options.python ?? null, planned.io);
  const { coolDown, gate, lockClocks, numa } = matrix;
  const telemetry = options.telemetry !== false;
  const stored = storedPlanOf(plan, program, converter, { coolDown, gate, gpus, lockClocks, numa, telemetry });
  const sweep = plannedSweep(plan, program, {
    sweepId: pair[name],
    name: `compare ${pair.pairId.slice(0, 8)}`,
    startedAt: pair.stored[name]?.startedAt ?? io.now().toISOString(),
    ...side.git,
    branch: COMPARE_BRANCH,
  });
  const prepared = { sweep, stored, program, converter, machines };
  const cache = side.cacheFor(planned, enginesFolderOf(store.path));
  const workers = await openWorkers(store, prepared, cache, planned.io, (event, gpu) =>
    progress.take(event, gpu === null ? name : `${name} · ${gpu}`),
  );
  return { beforeRun: side.beforeRun, stored, workers };
}

/** A cell with its timed runs of both sides so far. */
export type PairedCell = GrowingRuns;

/** The cells of the next round, most useful for their time first; empty when all cells have enough runs. */
export function nextRound(cells: readonly PairedCell[], enough: Enough): PairedCell[] {
  const first = cells.filter(({ capacity, rounds }) => rounds < Math.min(enough.repeats, capacity));
  if (first.length > 0) return first;
  const varying = cells.filter(({ cell }) => !isOfBuild(gateMetric(enough.metric, cell)));
  const { open, limited } = undecided(varying, enough);
  // Both sides share their sweep conditions. Apparent sweep-to-sweep noise is the noise of few runs, so that more runs
  // help.
  return [...open, ...limited];
}

/** A replayed run takes almost no time. */
const REPLAY_S = 0.1;

export function pairedCells({ pair, store }: Comparing, { base, head }: BothPlans): PairedCell[] {
  const { plan, program } = head;
  const keys = plan.cells.map(({ cell }) => cell.key);
  const { runS } = pastRunsOf(store.db, keys, program.provenance);
  const secondsOf = (key: CellKey) =>
    program.recordings === null ? (runS.get(key) ?? plannedRunS(plan, key)) : REPLAY_S;
  const recorded = [base, head].map((side) => recordedOf(side.plan, side.program.recordings?.folder));
  const capacityOf = (key: CellKey) => Math.min(...recorded.map((runsOf) => runsOf(key)));
  return cellsOf(store, pair, plan.cells, capacityOf, (key) => 2 * secondsOf(key));
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

/** The longest time that a measurement may take, estimated from the plans and earlier runs. */
export function costText(
  { base, head }: BothPlans,
  cells: readonly PairedCell[],
  { maxRepeats, repeats }: Enough,
  gpus: number,
  budgetS: number | null,
): string {
  const seconds = (rounds: number): number =>
    cells.reduce((sum, cell) => sum + Math.max(0, Math.min(rounds, cell.capacity) - cell.rounds) * cell.roundS, 0) /
    gpus;
  const toBuild = [base, head].flatMap(({ plan, program }) =>
    program.recordings === null ? plan.builds.filter(({ enginePath }) => enginePath === null) : [],
  );
  const least = toBuild.length * BUILD_ESTIMATE_S + seconds(repeats);
  const all = toBuild.length * BUILD_ESTIMATE_S + seconds(Math.max(repeats, maxRepeats));
  const most = Math.min(all, Math.max(least, budgetS ?? Infinity));
  const runs = maxRepeats > repeats ? `${repeats} to ${maxRepeats} runs` : count(repeats, 'run');
  const time = `about ${formatDuration(least)}${most > least ? `, at most ${formatDuration(most)}` : ''}`;
  return `${count(cells.length, 'cell')}, ${runs} of each on both sides · ${time}`;
}
