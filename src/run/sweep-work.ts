import { EnginePool } from '../engines/provide-engine.ts';
import { outcomeReason } from '../records/outcome.ts';
import type { PlannedRun } from '../records/plan.ts';
import type { RunRecord } from '../records/run.ts';
import type { EndedAttempt } from './attempt.ts';
import { runIdOf, startRun } from './measure-run.ts';
import type { SweepContext, SweepCounts } from './sweep-context.ts';
import { highestRepeat } from '../store/runs/runs.ts';
import type { CellKey } from '../records/scalars.ts';
import type { UnfitRound, UnfitRounds } from './unfit-rounds.ts';

type MutableCounts = { -readonly [Kind in keyof SweepCounts]: number };

/** After this many consecutive failures caused by the GPU it is taken out. */
const FAILURES_TO_CLOSE = 3;
const GPU_FAILURES: readonly (string | null)[] = ['cudaError', 'noGpu', 'deviceInvalid'];
/** A build that has fewer CPUs for itself slows the host side of what is timed next to it. */
const CPUS_FOR_BUILD_AND_RUN = 8;

/** Nothing is lost, and the sweep can be resumed: what the caller says. */
export class UnfitRoundError extends Error {
  override readonly name = 'UnfitRoundError';
  readonly round: UnfitRound;
  readonly counts: SweepCounts;

  constructor(round: UnfitRound, counts: SweepCounts) {
    super(`${round.runs} runs in a row are unfit: ${round.reason}`);
    this.round = round;
    this.counts = counts;
  }
}

/** The runs of a sweep on one or more GPUs in parallel, sequential on each. */
export class SweepWork {
  readonly counts: MutableCounts;
  private readonly workers: readonly SweepContext[];
  private readonly queues: RunQueues;
  private readonly engines: EnginePool;
  private readonly failure = new AbortController();
  private readonly unfitRounds: UnfitRounds | null;
  /** Why no more runs are started. */
  private unfit: UnfitRound | null = null;

  /** @param gpuOfCell UUID by cell key; a cell that is not in it goes to the first worker */
  constructor(workers: readonly [SweepContext, ...SweepContext[]], gpuOfCell: Readonly<Record<string, string>>) {
    const [first] = workers;
    this.unfitRounds = first.unfitRounds;
    const places = new Map(workers.map(({ gpu }, worker) => [gpu?.uuid, worker]));
    this.counts = { measured: 0, unfit: 0, failed: 0, skipped: 0, kept: 0, replaced: 0 };
    this.queues = new RunQueues(workers.length, (cellKey) => places.get(gpuOfCell[cellKey]) ?? 0);
    // What goes wrong on one GPU ends the work on the others, and is reported.
    const signal = AbortSignal.any([first.signal, this.failure.signal]);
    this.workers = workers.map((worker) => ({ ...worker, signal }));
    this.engines = new EnginePool(this.workers[0] ?? first, () => (this.counts.failed += 1));
  }

  async begin(runs: readonly PlannedRun[]): Promise<void> {
    const { hasMoreRuns, sweep, writer } = this.workers[0] ?? {};
    const isWanted = (run: PlannedRun): boolean =>
      hasMoreRuns === true || writer?.hasRun(runIdOf(sweep?.sweepId ?? '', run)) !== true;
    await this.do(runs, isWanted);
  }

  /** All engines before the first run. */
  async provide(buildRefs: readonly string[]): Promise<void> {
    await this.together((worker) => this.engines.fill(worker, buildRefs));
  }

  async replace(runs: readonly PlannedRun[]): Promise<void> {
    const before = this.counts.measured;
    await this.do(runs);
    this.counts.replaced += this.counts.measured - before;
  }

  /** @param needsEngine selects the runs whose engines are provided before any run starts */
  async do(runs: readonly PlannedRun[], needsEngine: (run: PlannedRun) => boolean = () => false): Promise<void> {
    this.beginRound(runs);
    this.queues.add(runs);
    await this.together((worker, place) => this.provideEngines(worker, place, needsEngine));
    // The workers that have ended begin again when another one's runs were moved to them.
    while (!this.queues.isEmpty) await this.together((worker, place) => this.drain(worker, place));
    if (this.unfit !== null) throw new UnfitRoundError(this.unfit, this.counts);
  }

  private beginRound(runs: readonly PlannedRun[]): void {
    const [first] = this.workers;
    const isNew = (run: PlannedRun): boolean => first?.writer.hasRun(runIdOf(first.sweep.sweepId, run)) === false;
    this.unfitRounds?.begin(runs.flatMap((run) => (run.role === 'timed' && isNew(run) ? run.cellKey : [])));
  }

  /** The builds that this worker needs and nobody has begun; with CPUs enough, its runs do not wait for the others' builds. */
  private async provideEngines(
    worker: SweepContext,
    place: number,
    needsEngine: (run: PlannedRun) => boolean,
  ): Promise<void> {
    const needed = new Set(
      this.queues
        .waiting(place)
        .filter(needsEngine)
        .map(({ buildRef }) => buildRef),
    );
    const inOrder = worker.plan.builds.map(({ buildRef }) => buildRef).filter((buildRef) => needed.has(buildRef));
    await this.engines.fill(worker, inOrder);
    const isRoomy = worker.cpuCount >= CPUS_FOR_BUILD_AND_RUN * this.workers.length;
    if (isRoomy) await this.drain(worker, place);
  }

  /** While a run is measured, what the one before left is read and stored: its first half second is trtexec's start. */
  private async drain(worker: SweepContext, place: number): Promise<void> {
    const failed: PlannedRun[] = [];
    let storing: Promise<unknown> = Promise.resolve();
    try {
      for (let run = this.queues.next(place); run !== undefined; run = this.queues.next(place)) {
        const ended = await this.measure(worker, run);
        if (ended === null) continue;
        await storing;
        const stored = ended.store();
        storing = stored;
        // Its error is that of the next await.
        stored.catch(() => {});
        const isOfGpu = !ended.isWell && GPU_FAILURES.includes(outcomeReason((await stored).outcome));
        if (isOfGpu) failed.push(run);
        else failed.length = 0;
        if (failed.length >= FAILURES_TO_CLOSE && this.queues.openWorkers > 1) {
          this.close(worker, place, failed);
          return;
        }
      }
    } finally {
      // After Ctrl-C too: it was measured.
      await storing;
    }
  }

  /** @returns null when nothing was run */
  private async measure(worker: SweepContext, run: PlannedRun): Promise<EndedAttempt | null> {
    worker.signal.throwIfAborted();
    const runId = runIdOf(worker.sweep.sweepId, run);
    if (worker.writer.hasRun(runId)) {
      this.counts.kept += 1;
      worker.onEvent({ kind: 'runKept', run });
      return null;
    }
    if (run.harness !== null) {
      const { isWell, store } = await startRun(worker, run, runId, null);
      return { isWell, store: () => this.counted(run, store()) };
    }
    const engine = await this.engines.engine(worker, run.buildRef);
    if (engine?.kind !== 'ready') {
      this.counts.skipped += 1;
      this.unfitRounds?.skip(run.cellKey);
      worker.onEvent({ kind: 'runSkipped', run });
      return null;
    }
    const { isWell, store } = await startRun(worker, run, runId, engine.engine);
    return {
      isWell,
      store: async () => {
        const record = await this.counted(run, store());
        await this.engines.afterRun(worker, run.buildRef, engine, record.outcome);
        return record;
      },
    };
  }

  private async counted({ cellKey }: PlannedRun, record: Promise<RunRecord>): Promise<RunRecord> {
    const own = await record;
    const { kind } = own.outcome;
    if (kind !== 'built') this.counts[kind] += 1;
    this.unfit ??= this.unfitRounds?.take(cellKey, own) ?? null;
    // What is being measured now is stored, too.
    if (this.unfit !== null) this.queues.clear();
    return own;
  }

  private close(worker: SweepContext, place: number, failed: readonly PlannedRun[]): void {
    const again = failed.map((run) => ({ ...run, repeat: this.nextRepeat(worker, run) }));
    const moved = this.queues.close(place, again);
    this.counts.replaced += again.length;
    worker.onEvent({ kind: 'gpuTakenOut', failures: failed.length, failed: again, moved });
  }

  private nextRepeat({ db, plan, sweep }: SweepContext, { cellKey, role }: PlannedRun): number {
    const planned = plan.runs.filter((run) => run.cellKey === cellKey && run.role === role);
    const stored = highestRepeat(db, sweep.sweepId, role, cellKey);
    return 1 + Math.max(stored, ...planned.map(({ repeat }) => repeat));
  }

  private async together(work: (worker: SweepContext, place: number) => Promise<void>): Promise<void> {
    await Promise.allSettled(
      this.workers.map(async (worker, place) => {
        try {
          await work(worker, place);
        } catch (error) {
          this.failure.abort(error);
          throw error;
        }
      }),
    );
    // The first error is the cause of the others.
    if (this.failure.signal.aborted) throw this.failure.signal.reason;
    this.workers[0]?.signal.throwIfAborted();
  }
}

class RunQueues {
  private readonly queues: PlannedRun[][];
  private readonly workerOf: (cellKey: CellKey) => number;
  private readonly closed = new Set<number>();

  /** @param workerOf place of the worker that measures a cell */
  constructor(workers: number, workerOf: (cellKey: CellKey) => number) {
    this.queues = Array.from({ length: workers }, () => []);
    this.workerOf = workerOf;
  }

  get isEmpty(): boolean {
    return this.queues.every((queue) => queue.length === 0);
  }

  get openWorkers(): number {
    return this.queues.length - this.closed.size;
  }

  waiting(worker: number): readonly PlannedRun[] {
    return this.queues[worker] ?? [];
  }

  add(runs: readonly PlannedRun[]): void {
    const moved = new Map<string, number>();
    for (const run of runs) {
      const own = this.workerOf(run.cellKey);
      // All runs of a cell go to one worker.
      const worker = this.closed.has(own) ? (moved.get(run.cellKey) ?? this.shortest()) : own;
      moved.set(run.cellKey, worker);
      this.queues[worker]?.push(run);
    }
  }

  clear(): void {
    for (const queue of this.queues) queue.length = 0;
  }

  next(worker: number): PlannedRun | undefined {
    return this.queues[worker]?.shift();
  }

  /** A worker takes no more runs: what waits for it goes to the others. */
  close(worker: number, again: readonly PlannedRun[]): readonly PlannedRun[] {
    const left = [...(this.queues[worker] ?? []), ...again];
    this.queues[worker] = [];
    this.closed.add(worker);
    this.add(left);
    return left;
  }

  private shortest(): number {
    const open = this.queues.map((queue, worker) => ({ worker, seconds: secondsOf(queue) }));
    const [first] = open.filter(({ worker }) => !this.closed.has(worker)).toSorted((a, b) => a.seconds - b.seconds);
    return first?.worker ?? 0;
  }
}

function secondsOf(queue: readonly PlannedRun[]): number {
  return queue.reduce((sum, { estimateS }) => sum + estimateS, 0);
}
