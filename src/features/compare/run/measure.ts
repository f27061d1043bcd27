import { artefactsFolderOf, enginesFolderOf } from '../../../artefacts/layout.ts';
import type { Io } from '../../../cli/io.ts';
import { LiveProgress } from '../../../cli/live-progress.ts';
import { InterruptedError } from '../../../errors.ts';
import { withLockedClocks } from '../../../machine/lock-clocks.ts';
import type { Machine } from '../../../machine/machine.ts';
import type { Plan, PlannedRun } from '../../../records/plan.ts';
import { COMPARE_BRANCH } from '../../../records/sweep.ts';
import { openGpuWorker, sweepServices } from '../../../run/gpu-worker.ts';
import { plannedSweep, storedOnce } from '../../../run/planned-sweep.ts';
import { inSweep, saveState } from '../../../run/run-sweep.ts';
import type { SweepContext } from '../../../run/sweep-context.ts';
import { SweepWork } from '../../../run/sweep-work.ts';
import type { OpenStore } from '../../../store/file/open.ts';
import { deviceLabel } from '../../../tools/nvidia-smi/device-list.ts';
import { converterFor } from '../../../variants/converter.ts';
import type { SideName } from './commit-side.ts';
import type { Pair } from './pair.ts';
import type { PlannedSide } from './plan-both.ts';
import { type PairedCell, roundsOf } from './rounds.ts';
import { type MeasureSettings, type OpenedSide, Turns } from './turns.ts';

/**
 * Measures two sides in turns, each cell on one GPU, round by round, until it is known enough of every cell. Each run
 * is stored at once.
 * @param cellsNow the cells with their runs, as stored
 * @throws InterruptedError on Ctrl-C: what was measured is stored, and the same call goes on
 */
export async function measureInTurns(
  store: OpenStore,
  pair: Pair,
  sides: Readonly<Record<SideName, PlannedSide>>,
  machines: readonly [Machine, ...Machine[]],
  settings: MeasureSettings,
  cellsNow: () => PairedCell[],
  io: Io,
): Promise<void> {
  const { base, head } = sides;
  const { lockClocks } = head.planned.matrix;
  const { program } = head.planned;
  const lock = { request: program.recordings === null ? lockClocks : null, isVerbose: true };
  const progress = new LiveProgress(planLeft(sides, cellsNow()), program, io);
  const failure = new AbortController();
  const signal = AbortSignal.any([io.signal, failure.signal]);
  const opened: OpenedSide[] = [];
  try {
    await withLockedClocks(lock, machines, head.planned.plan, program, io, async (locked) => {
      const open = async (name: SideName, toMeasure: PlannedSide): Promise<OpenedSide> => {
        const side = await openSide(store, pair, name, toMeasure, locked, settings, progress, { ...io, signal });
        opened.push(side);
        return side;
      };
      const [a, b] = [await open('base', base), await open('head', head)];
      const turns = new Turns({ sides: { base: a, head: b }, settings, cellsNow, progress, failure, io });
      await inSweep(a.workers, a.stored, () => inSweep(b.workers, b.stored, () => turns.toTheEnd()));
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

/** What is left to be done, for the progress: the runs of both sides. */
function planLeft({ base, head }: Readonly<Record<SideName, PlannedSide>>, cells: readonly PairedCell[]): Plan {
  const done = new Map(cells.map((cell) => [cell.cell.key, roundsOf(cell)]));
  const left = ({ planned }: PlannedSide): PlannedRun[] =>
    planned.plan.runs.filter(({ cellKey, repeat }) => repeat > (done.get(cellKey) ?? 0));
  return { ...head.planned.plan, runs: [...left(base), ...left(head)] };
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
  const there = { ...planned.io, signal: io.signal };
  const converter = await converterFor(plan, python, there);
  const { coolDown, gate, lockClocks, numa } = matrix;
  const stored = storedOnce(plan, program, converter, { coolDown, gate, gpus, lockClocks, numa, telemetry });
  const sweep = plannedSweep(plan, program, {
    sweepId: pair[name],
    name: `compare ${pair.pairId.slice(0, 8)}`,
    startedAt: pair.stored[name]?.startedAt ?? io.now().toISOString(),
    ...side.git,
    branch: COMPARE_BRANCH,
  });
  const take =
    (label: string): SweepContext['onEvent'] =>
    (event) =>
      progress.take(event, label);
  const shared = {
    ...sweepServices(store, { plan, sweep }, converter, there, take(name)),
    cache: side.cacheFor(planned, enginesFolderOf(store.path)),
    // The engines of several GPU models are others.
    mayChangeEngines: machines.length > 1,
  };
  const workerOf = async (machine: Machine): Promise<SweepContext> => {
    const { device } = machine;
    const label = machines.length === 1 || device === null ? name : `${name} · ${deviceLabel(device)}`;
    const note = (text: string): void => progress.take({ kind: 'note', text }, label);
    const worker = await openGpuWorker(machine, program, { telemetry, coolDown, numa }, there, note);
    return { ...shared, ...worker, onEvent: take(label) };
  };
  const [first, ...others] = machines;
  const workers: [SweepContext, ...SweepContext[]] = [await workerOf(first)];
  for (const machine of others) workers.push(await workerOf(machine));
  return { side, sweep, stored, workers, onGpu: workers.map((worker) => new SweepWork([worker], {})) };
}
