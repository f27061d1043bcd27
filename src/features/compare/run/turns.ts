import { artefactsFolderOf, enginesFolderOf } from '../../../artefacts/layout.ts';
import type { Io } from '../../../cli/io.ts';
import { LiveProgress } from '../../../cli/live-progress.ts';
import { InterruptedError } from '../../../errors.ts';
import type { SideName, TurnSide } from './commit-side.ts';
import type { Pair } from './pair.ts';
import type { PlannedSide } from './plan-both.ts';
import { type Enough, type PairedCell, nextRound, roundsOf } from './rounds.ts';
import { withLockedClocks } from '../../../machine/lock-clocks.ts';
import type { Machine } from '../../../machine/machine.ts';
import { timeBudget } from '../../../judge/adaptive-repeats.ts';
import { inRounds } from '../../../matrix/plan/order.ts';
import type { Plan, PlannedRun } from '../../../records/plan.ts';
import type { CellKey } from '../../../records/scalars.ts';
import { COMPARE_BRANCH, type Sweep } from '../../../records/sweep.ts';
import { openGpuWorker, sweepServices } from '../../../run/gpu-worker.ts';
import { plannedSweep, storedOnce } from '../../../run/planned-sweep.ts';
import { inSweep, saveState } from '../../../run/run-sweep.ts';
import type { StoredPlan } from '../../../run/stored-plan.ts';
import type { SweepContext } from '../../../run/sweep-context.ts';
import { SweepWork } from '../../../run/sweep-work.ts';
import type { OpenStore } from '../../../store/file/open.ts';
import { deviceLabel } from '../../../tools/nvidia-smi/device-list.ts';
import { converterFor } from '../../../variants/converter.ts';

export interface MeasureSettings extends Enough {
  /** Time for rounds beyond `repeats`, seconds; null for as long as it takes. */
  readonly budgetS: number | null;
  readonly python: string | null;
  readonly telemetry: boolean;
  readonly gpus: StoredPlan['gpus'];
}

export interface OpenedSide {
  readonly side: Pick<TurnSide, 'beforeRun'>;
  readonly sweep: Sweep;
  readonly stored: StoredPlan;
  /** One for each GPU. */
  readonly workers: readonly [SweepContext, ...SweepContext[]];
  readonly onGpu: readonly SweepWork[];
}

interface TurnsGiven {
  readonly sides: Readonly<Record<SideName, OpenedSide>>;
  readonly settings: MeasureSettings;
  /** The cells with their runs, as stored. */
  readonly cellsNow: () => PairedCell[];
  readonly progress: LiveProgress;
  readonly failure: AbortController;
  readonly io: Io;
}

/** The rounds of a measurement, on one or more GPUs at once: a round ends on all of them before the next begins. */
class Turns {
  private readonly given: TurnsGiven;
  private readonly fitting: ReturnType<typeof timeBudget>;
  /** Cells whose round added no run, as their engine cannot be built. */
  private readonly stuck = new Set<CellKey>();

  constructor(given: TurnsGiven) {
    this.given = given;
    this.fitting = timeBudget(given.settings.budgetS, given.io.now);
  }

  async toTheEnd(): Promise<void> {
    await this.provideEngines();
    for (let round = this.next(); round.length > 0; round = this.next()) {
      const before = new Map(round.map((cell) => [cell.cell.key, roundsOf(cell)]));
      await this.measure(before);
      for (const cell of this.given.cellsNow()) {
        if (before.get(cell.cell.key) === roundsOf(cell)) this.stuck.add(cell.cell.key);
      }
    }
  }

  /** Before the first run: a build heats the GPU. */
  private async provideEngines(): Promise<void> {
    const keys = this.open().map(({ cell }) => cell.key);
    await this.onEachGpu(async (work, isOn) => {
      for (const name of ['base', 'head'] as const) {
        const { side, stored } = this.given.sides[name];
        const { runs } = stored.plan;
        await side.beforeRun?.();
        const needed = runs.filter(
          ({ cellKey, harness }) => harness === null && keys.includes(cellKey) && isOn(cellKey),
        );
        await work[name].provide([...new Set(needed.map(({ buildRef }) => buildRef))]);
      }
    });
  }

  private open(): PairedCell[] {
    return this.given.cellsNow().filter(({ cell }) => !this.stuck.has(cell.key));
  }

  private next(): PairedCell[] {
    const { repeats } = this.given.settings;
    const round = nextRound(this.open(), this.given.settings);
    const fitting = new Set(this.fitting(round, ({ roundS }) => roundS));
    return round.filter((cell) => fitting.has(cell) || roundsOf(cell) < repeats);
  }

  /** @param before the rounds that each of its cells has */
  private async measure(before: ReadonlyMap<CellKey, number>): Promise<void> {
    const { cells, seed } = this.given.sides.head.stored.plan;
    // All cells, so that each keeps its turns whatever else is in the round.
    const items = cells.flatMap(({ cell: { key } }) => (['base', 'head'] as const).map((name) => ({ key, name })));
    const most = Math.max(...before.values()) + 1;
    // Each cell A B in one round, B A in the next.
    const order = inRounds(items, most, seed, ({ key }) => key).flatMap(({ item, repeat }) => {
      const { key, name } = item;
      const rounds = before.get(key);
      if (rounds === undefined || repeat !== rounds + 1) return [];
      const planned = this.given.sides[name].stored.plan.runs.find(({ cellKey }) => cellKey === key);
      return planned === undefined ? [] : [{ name, run: { ...planned, repeat } }];
    });
    const beyond = order.flatMap(({ run }) => (run.repeat > this.given.settings.repeats ? [run] : []));
    if (beyond.length > 0) this.given.progress.take({ kind: 'moreRuns', runs: beyond });
    await this.onEachGpu(async (work, isOn) => {
      for (const { name, run } of order) {
        if (!isOn(run.cellKey)) continue;
        await this.given.sides[name].side.beforeRun?.();
        await work[name].do([run]);
      }
    });
  }

  private async onEachGpu(
    measure: (work: Readonly<Record<SideName, SweepWork>>, isOn: (key: CellKey) => boolean) => Promise<void>,
  ): Promise<void> {
    const { base, head } = this.given.sides;
    const { gpus } = this.given.settings;
    await Promise.allSettled(
      base.onGpu.map(async (ofBase, place) => {
        const ofHead = head.onGpu[place];
        if (ofHead === undefined) return;
        const uuid = base.workers[place]?.gpu?.uuid;
        try {
          await measure({ base: ofBase, head: ofHead }, (key) => gpus === null || gpus.cells[key] === uuid);
        } catch (error) {
          // What goes wrong on one GPU ends the work on the others.
          this.given.failure.abort(error);
        }
      }),
    );
    if (this.given.failure.signal.aborted) throw this.given.failure.signal.reason;
  }
}

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
