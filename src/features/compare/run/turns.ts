import type { Io } from '../../../cli/io.ts';
import type { LiveProgress } from '../../../cli/live-progress.ts';
import { inRounds } from '../../../matrix/plan/order.ts';
import type { CellKey } from '../../../records/scalars.ts';
import type { Sweep } from '../../../records/sweep.ts';
import type { StoredPlan } from '../../../run/stored-plan.ts';
import type { SweepContext } from '../../../run/sweep-context.ts';
import type { SweepWork } from '../../../run/sweep-work.ts';
import type { SideName, TurnSide } from './commit-side.ts';
import { type Enough, nextRound, type PairedCell, roundsOf } from './rounds.ts';

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
export class Turns {
  private readonly given: TurnsGiven;
  private readonly startMs: number;
  /** Cells whose round added no run, as their engine cannot be built. */
  private readonly stuck = new Set<CellKey>();

  constructor(given: TurnsGiven) {
    this.given = given;
    this.startMs = given.io.now().getTime();
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
    const { budgetS, repeats } = this.given.settings;
    const round = nextRound(this.open(), this.given.settings);
    if (budgetS === null) return round;
    let leftS = budgetS - (this.given.io.now().getTime() - this.startMs) / 1000;
    return round.filter((cell) => {
      leftS -= cell.roundS;
      return leftS >= 0 || roundsOf(cell) < repeats;
    });
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
