import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { ATTEMPT_PREFIX, sweepFolderOf } from '../files/layout.ts';
import type { CachedEngine } from '../engines/engine-cache.ts';
import { type LoadableEngine, loadableEngine } from '../engines/engine-state.ts';
import { EnginePool } from '../engines/provide-engine.ts';
import { pairOf } from '../judge/gate/judge-pairs.ts';
import { type Outcome, outcomeReason } from '../records/outcome.ts';
import { type PlannedRun, buildRefsOf } from '../records/plan.ts';
import type { RunRecord } from '../records/run.ts';
import type { CellKey } from '../records/scalars.ts';
import { highestRepeat } from '../store/runs/runs.ts';
import { type EndedAttempt, startOnce } from './attempt.ts';
import { attemptOf, runIdOf, startRun } from './measure-run.ts';
import type { Side, SweepContext, SweepCounts, Turn } from './sweep-context.ts';
import type { UnfitRound } from './unfit-rounds.ts';

type MutableCounts = { -readonly [Kind in keyof SweepCounts]: number };

type Rounds = Iterable<readonly Turn[]> | AsyncIterable<readonly Turn[]>;

/**
 * Measures one or more sides in turns, each cell on one GPU, round by round. A round ends on all GPUs before the next
 * one begins. Engines are built before the first run of a round, because a build heats the GPU. Each run is stored at
 * once.
 * @param gpuOfCell UUID by cell key; other cells go to the first worker
 * @param rounds the next rounds, computed from the store so that they continue after a kill
 * @throws UnfitRoundError after a whole round of unfit runs
 */
export async function measureInTurns(
  sides: readonly [Side, ...Side[]],
  gpuOfCell: Readonly<Record<string, string>>,
  rounds: (counts: MutableCounts) => Rounds,
): Promise<SweepCounts> {
  const turns = new Turns(sides, gpuOfCell);
  for await (const round of rounds(turns.counts)) await turns.measure(round);
  return turns.counts;
}

/** Nothing is lost, and the caller says how to resume the sweep. */
export class UnfitRoundError extends Error {
  readonly round: UnfitRound;
  readonly counts: SweepCounts;

  constructor(round: UnfitRound, counts: SweepCounts) {
    super(`${round.runs} runs in a row are unfit: ${round.reason}`);
    this.round = round;
    this.counts = counts;
  }
}

/** After this many consecutive failures caused by the GPU, it gets no more runs. */
const FAILURES_TO_CLOSE = 3;
const GPU_FAILURES: readonly (string | null)[] = ['cudaError', 'noGpu', 'deviceInvalid'];
/** A build with fewer CPUs slows down the host side of a concurrent timed run. */
const CPUS_FOR_BUILD_AND_RUN = 8;

/** Runs on one or more GPUs in parallel, sequential on each. */
class Turns {
  readonly counts: MutableCounts = { measured: 0, unfit: 0, failed: 0, skipped: 0, kept: 0, replaced: 0 };
  private readonly first: SweepContext;
  private readonly placeOf: (cellKey: CellKey) => number;
  /** The waiting runs of each GPU. */
  private readonly queues: readonly Turn[][];
  /** GPUs that get no more runs. */
  private readonly closed = new Set<number>();
  private readonly engines: ReadonlyMap<Side, EnginePool>;
  /** An error on one GPU ends the work on the others, and is reported. */
  private readonly failure = new AbortController();
  private readonly signal: AbortSignal;
  /** The reason to start no more runs. */
  private unfit: UnfitRound | null = null;

  constructor(sides: readonly [Side, ...Side[]], gpuOfCell: Readonly<Record<string, string>>) {
    const [{ workers }] = sides;
    const places = new Map(workers.map(({ gpu }, place) => [gpu?.uuid, place]));
    this.first = workers[0];
    this.queues = workers.map(() => []);
    this.placeOf = (cellKey) => places.get(gpuOfCell[cellKey]) ?? 0;
    this.signal = AbortSignal.any([this.first.signal, this.failure.signal]);
    this.engines = new Map(sides.map((side) => [side, new EnginePool(this.worker(side, 0), this.count)]));
  }

  async measure(round: readonly Turn[]): Promise<void> {
    const fresh = round.filter((turn) => turn.run.role === 'timed' && !isStored(turn));
    this.first.unfitRounds?.begin(fresh.map(({ run }) => run.cellKey));
    this.add(round);
    await this.onEachGpu((queue, place) => this.provideEngines(queue, place));
    // Workers that have ended start again when runs of another worker were moved to them.
    while (this.queues.some((queue) => queue.length > 0)) {
      await this.onEachGpu((queue, place) => this.drain(queue, place));
    }
    if (this.unfit !== null) throw new UnfitRoundError(this.unfit, this.counts);
  }

  /** All runs of a cell go to one GPU. */
  private add(turns: readonly Turn[]): void {
    const moved = new Map<CellKey, number>();
    for (const turn of turns) {
      const { cellKey } = turn.run;
      const planned = this.placeOf(cellKey);
      const place = this.closed.has(planned) ? (moved.get(cellKey) ?? this.shortest()) : planned;
      moved.set(cellKey, place);
      this.queues[place]?.push(turn);
    }
  }

  private shortest(): number {
    const seconds = this.queues.map((queue) => queue.reduce((sum, { run }) => sum + run.estimateS, 0));
    const open = [...seconds.entries()].filter(([place]) => !this.closed.has(place));
    return open.toSorted(([, a], [, b]) => a - b)[0]?.[0] ?? 0;
  }

  private worker({ workers }: Side, place: number): SweepContext {
    return { ...(workers[place] ?? workers[0]), signal: this.signal };
  }

  /**
   * Makes the builds that this GPU needs and nobody has begun. With enough CPUs, its runs do not wait for the builds of
   * others.
   */
  private async provideEngines(queue: Turn[], place: number): Promise<void> {
    const waiting = queue.filter((turn) => turn.pair === undefined && !isStored(turn));
    for (const [side, engines] of this.engines) {
      const needed = new Set(waiting.filter((turn) => turn.side === side).flatMap(({ run }) => buildRefsOf(run)));
      if (needed.size === 0) continue;
      await side.beforeRun?.();
      const worker = this.worker(side, place);
      const inOrder = worker.plan.builds.map(({ buildRef }) => buildRef).filter((buildRef) => needed.has(buildRef));
      await engines.fill(worker, inOrder);
    }
    if (this.first.cpuCount >= CPUS_FOR_BUILD_AND_RUN * this.queues.length) await this.drain(queue, place);
  }

  /**
   * Reads and stores the previous run while the next one is measured, because its first half second is the start of
   * trtexec.
   */
  private async drain(queue: Turn[], place: number): Promise<void> {
    const failed: Turn[] = [];
    let storing: Promise<unknown> = Promise.resolve();
    try {
      for (let turn = queue.shift(); turn !== undefined; turn = queue.shift()) {
        const ended = await this.start(turn, place);
        if (ended === null) continue;
        await storing;
        const stored = ended.store();
        storing = stored;
        // The next await throws the error.
        stored.catch(() => {});
        const isOfGpu = !ended.isWell && GPU_FAILURES.includes(outcomeReason((await stored).outcome));
        if (isOfGpu) failed.push(turn);
        else failed.length = 0;
        // Two compared sides stay on their GPU.
        const mayMove = this.queues.length - this.closed.size > 1 && this.engines.size === 1 && turn.pair === undefined;
        if (failed.length >= FAILURES_TO_CLOSE && mayMove) {
          this.close(queue, place, failed);
          return;
        }
      }
    } finally {
      // Store the run even after Ctrl-C, because it was measured.
      await storing;
    }
  }

  /** @returns null when nothing was run */
  private async start(turn: Turn, place: number): Promise<EndedAttempt | null> {
    const { coolToC, pair, run, side } = turn;
    this.signal.throwIfAborted();
    const own = this.worker(side, place);
    const worker: SweepContext = { ...own, spawn: (process, ...rest) => own.spawn({ ...process, coolToC }, ...rest) };
    const runId = runIdOf(worker.sweep.sweepId, run);
    if (isStored(turn)) {
      this.counts.kept += 1;
      worker.onEvent({ kind: 'runKept', run });
      return null;
    }
    await side.beforeRun?.();
    if (pair !== undefined) {
      if (pair.isCold) await warmUp(worker, pair.engine, run);
      return startRun(worker, run, runId, loadableEngine(pair.engine), pairOf(run.repeat));
    }
    const engines = this.engines.get(side);
    const loaded: LoadableEngine[] = [];
    for (const buildRef of run.harness === null ? buildRefsOf(run) : []) {
      const state = await engines?.engine(worker, buildRef);
      if (state?.kind !== 'ready') {
        this.counts.skipped += 1;
        this.first.unfitRounds?.skip(run.cellKey);
        worker.onEvent({ kind: 'runSkipped', run });
        return null;
      }
      loaded.push(state.engine);
    }
    const [engine = null, neighbor = null] = loaded;
    const { isWell, store } = await startRun(worker, run, runId, engine, run.repeat - 1, neighbor);
    return {
      isWell,
      store: async () => {
        const record = await this.counted(run, store());
        if (engine !== null) await engines?.afterRun(worker, run.buildRef, engine, record.outcome);
        return record;
      },
    };
  }

  private readonly count = ({ kind }: Outcome): void => {
    if (kind !== 'built') this.counts[kind] += 1;
  };

  private async counted({ cellKey }: PlannedRun, record: Promise<RunRecord>): Promise<RunRecord> {
    const stored = await record;
    this.count(stored.outcome);
    this.unfit ??= this.first.unfitRounds?.take(cellKey, stored) ?? null;
    // Runs in progress are still stored.
    if (this.unfit !== null) for (const queue of this.queues) queue.length = 0;
    return stored;
  }

  /** Moves the waiting runs of a GPU, and again those that failed there, to the others. */
  private close(queue: Turn[], place: number, failed: readonly Turn[]): void {
    const again = failed.map((turn, nth) => {
      const isSame = ({ run }: Turn): boolean => run.cellKey === turn.run.cellKey;
      const waiting = queue.filter(isSame).map(({ run }) => run.repeat + 1);
      const repeat = Math.max(nextRepeat(turn), ...waiting) + failed.slice(0, nth).filter(isSame).length;
      return { ...turn, run: { ...turn.run, repeat } };
    });
    const moved = [...queue.splice(0), ...again];
    this.closed.add(place);
    this.add(moved);
    this.counts.replaced += again.length;
    const runs = { failed: again.map(({ run }) => run), moved: moved.map(({ run }) => run) };
    for (const { side } of failed.slice(0, 1)) {
      this.worker(side, place).onEvent({ kind: 'gpuTakenOut', failures: failed.length, ...runs });
    }
  }

  private async onEachGpu(work: (queue: Turn[], place: number) => Promise<void>): Promise<void> {
    await Promise.allSettled(
      this.queues.map(async (queue, place) => {
        try {
          await work(queue, place);
        } catch (error) {
          this.failure.abort(error);
          throw error;
        }
      }),
    );
    // The first error caused the others.
    if (this.failure.signal.aborted) throw this.failure.signal.reason;
    this.signal.throwIfAborted();
  }
}

function isStored({ run, side: { workers } }: Turn): boolean {
  const [{ sweep, writer }] = workers;
  return writer.hasRun(runIdOf(sweep.sweepId, run));
}

function nextRepeat({ run: { cellKey, role }, side: { workers } }: Turn): number {
  const [{ db, plan, sweep }] = workers;
  const planned = plan.runs.filter((run) => run.cellKey === cellKey && run.role === role);
  const stored = highestRepeat(db, sweep.sweepId, role, cellKey);
  return 1 + Math.max(stored, ...planned.map(({ repeat }) => repeat));
}

/** A discarded run, because the first one after other engines loads files and code from the disk. */
async function warmUp(context: SweepContext, engine: CachedEngine, run: PlannedRun): Promise<void> {
  if (context.program.recordings !== null) return;
  const folder = join(sweepFolderOf(context.artefactsFolder, context.sweep.sweepId), `${ATTEMPT_PREFIX}warm-up`);
  try {
    await mkdir(folder, { recursive: true });
    await startOnce(context, attemptOf(context, run, 'warm-up', loadableEngine(engine), 0, null), folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
