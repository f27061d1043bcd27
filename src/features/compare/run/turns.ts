import { artefactsFolderOf, enginesFolderOf } from '../../../artefacts/layout.ts';
import type { Io } from '../../../cli/io.ts';
import { LiveProgress } from '../../../cli/live-progress.ts';
import { InterruptedError } from '../../../errors.ts';
import type { SideName } from './commit-side.ts';
import type { Pair } from './pair.ts';
import type { PlannedSide } from './plan-both.ts';
import { type PairedCell, nextRound } from './rounds.ts';
import type { Enough } from '../../run/index.ts';
import { withLockedClocks } from '../../../machine/lock-clocks.ts';
import type { Machine } from '../../../machine/machine.ts';
import { timeBudget } from '../../../judge/adaptive-repeats.ts';
import { inRounds } from '../../../matrix/plan/order.ts';
import type { CellKey } from '../../../records/scalars.ts';
import { COMPARE_BRANCH, type Sweep } from '../../../records/sweep.ts';
import { openWorkers } from '../../../run/gpu-worker.ts';
import { measureInTurns } from '../../../run/measure-in-turns.ts';
import { plannedSweep, storedPlanOf } from '../../../run/planned-sweep.ts';
import { inSweep, saveState } from '../../../run/run-sweep.ts';
import type { StoredPlan } from '../../../run/stored-plan.ts';
import type { Side, Turn } from '../../../run/sweep-context.ts';
import type { OpenStore } from '../../../store/file/open.ts';
import { converterFor } from '../../../variants/converter.ts';

export interface MeasureSettings extends Enough {
  /** Time for rounds beyond `repeats`, in seconds; null for no limit. */
  readonly budgetS: number | null;
  readonly python: string | null;
  readonly telemetry: boolean;
  readonly gpus: StoredPlan['gpus'];
}

/**
 * Measures two sides in turns, round by round, until each cell has enough runs.
 * @param cellsNow the cells with their stored runs
 * @throws InterruptedError on Ctrl-C; finished runs are stored, and the same call resumes
 */
export async function measureSides(
  store: OpenStore,
  pair: Pair,
  sides: Readonly<Record<SideName, PlannedSide>>,
  machines: readonly [Machine, ...Machine[]],
  settings: MeasureSettings,
  cellsNow: () => PairedCell[],
  io: Io,
): Promise<void> {
  const { matrix, plan, program } = sides.head.planned;
  const lock = { request: program.recordings === null ? matrix.lockClocks : null, isVerbose: true };
  const done = new Map(cellsNow().map(({ cell, rounds }) => [cell.key, rounds]));
  const runs = [sides.base, sides.head].flatMap(({ planned }) => planned.plan.runs);
  const left = runs.filter(({ cellKey, repeat }) => repeat > (done.get(cellKey) ?? 0));
  const progress = new LiveProgress({ ...plan, runs: left }, program, io);
  const opened: OpenedSide[] = [];
  try {
    await withLockedClocks(lock, machines, plan, program, io, async (locked) => {
      const open = async (name: SideName): Promise<OpenedSide> => {
        const side = await openSide(store, pair, name, sides[name], locked, settings, progress, io);
        opened.push(side);
        return side;
      };
      const [base, head] = [await open('base'), await open('head')];
      const measure = () =>
        measureInTurns([base, head], settings.gpus?.cells ?? {}, () =>
          roundsOfSides({ base, head }, settings, cellsNow, io),
        );
      await inSweep(base.workers, base.stored, () => inSweep(head.workers, head.stored, measure));
    });
  } catch (error) {
    if (!io.signal.aborted) throw error;
    const folders = { artefactsFolder: artefactsFolderOf(store.path), db: store.db };
    for (const { sweep, stored } of opened) await saveState(folders, stored, { ...sweep, state: 'interrupted' });
    throw new InterruptedError('interrupted', { cause: error });
  } finally {
    progress.end();
  }
}

interface OpenedSide extends Side {
  readonly sweep: Sweep;
  readonly stored: StoredPlan;
}

function* roundsOfSides(
  sides: Readonly<Record<SideName, OpenedSide>>,
  settings: MeasureSettings,
  cellsNow: () => PairedCell[],
  { now }: Io,
): Generator<Turn[]> {
  const fitting = timeBudget(settings.budgetS, now);
  // Cells whose round added no run, because their engine cannot be built.
  const stuck = new Set<CellKey>();
  for (;;) {
    const wanted = nextRound(
      cellsNow().filter(({ cell }) => !stuck.has(cell.key)),
      settings,
    );
    const inTime = new Set(fitting(wanted, ({ roundS }) => roundS));
    const round = wanted.filter((cell) => inTime.has(cell) || cell.rounds < settings.repeats);
    if (round.length === 0) return;
    const before = new Map(round.map((cell) => [cell.cell.key, cell.rounds]));
    const turns = turnsOf(sides, before);
    const beyond = turns.flatMap(({ run }) => (run.repeat > settings.repeats ? [run] : []));
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
  store: OpenStore,
  pair: Pair,
  name: SideName,
  { side, planned }: PlannedSide,
  machines: readonly [Machine, ...Machine[]],
  { gpus, python, telemetry }: MeasureSettings,
  progress: LiveProgress,
  io: Io,
): Promise<OpenedSide> {
  const { matrix, plan, program } = planned;
  const converter = await converterFor(plan, python, planned.io);
  const { coolDown, gate, lockClocks, numa } = matrix;
  const stored = storedPlanOf(plan, program, converter, { coolDown, gate, gpus, lockClocks, numa, telemetry });
  const sweep = plannedSweep(plan, program, {
    sweepId: pair[name],
    name: `compare ${pair.pairId.slice(0, 8)}`,
    startedAt: pair.stored[name]?.startedAt ?? io.now().toISOString(),
    ...side.git,
    branch: COMPARE_BRANCH,
  });
  const opened = {
    sweep,
    plan,
    program,
    converter,
    machines,
    settings: { telemetry, coolDown, numa },
    cache: side.cacheFor(planned, enginesFolderOf(store.path)),
  };
  const workers = await openWorkers(store, opened, planned.io, (event, gpu) =>
    progress.take(event, gpu === null ? name : `${name} · ${gpu}`),
  );
  return { beforeRun: side.beforeRun, sweep, stored, workers };
}
