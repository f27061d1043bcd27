import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

import type { ReadRun } from '../read/read-run.ts';
import type { StandaloneReading } from '../read/read-standalone.ts';
import type { RunSource } from '../read/recognise.ts';
import type { RunManifest } from '../run-manifest.ts';
import { type Answer, runsOf, type Task } from './messages.ts';
import { type RunWork, workHere } from './run-work.ts';

/** Large files are waited for; and what comes next is there when an answer is sent. */
const AT_ONCE = 4;
const AHEAD = 48;
/** What they hold is short-lived: more room would only mean more memory. */
const RESOURCES = { maxYoungGenerationSizeMb: 12 };

/** Below this starting a thread takes longer than it saves. */
const LEAST_SOURCES = 100;
/** One thread does not store faster than these read. */
const MOST_WORKERS = 3;

/**
 * @param file what a worker runs
 * @param signal aborts what is being read
 */
export function workOn(sources: number, file: string, signal: AbortSignal): RunWork {
  const here = workHere(signal);
  const workers = Math.min(MOST_WORKERS, availableParallelism());
  const isWorthIt = sources >= LEAST_SOURCES && workers > 1 && existsSync(file);
  return isWorthIt ? new RunWorkers(file, workers, here, signal) : here;
}

interface Asked {
  readonly task: Task;
  readonly resolve: (answer: Answer | null) => void;
}

/**
 * Threads that read and keep runs. Whatever one of them cannot do, or did not do before it ended, is done in this thread:
 * that says what is wrong, and its place in the order of runs.
 */
export class RunWorkers implements RunWork {
  readonly ahead = AHEAD;
  private readonly here: RunWork;
  private readonly signal: AbortSignal;
  private waiting: Asked[] = [];
  private readonly working = new Map<Worker, Map<number, Asked>>();
  private next = 0;

  /** @param here does what workers cannot */
  constructor(file: string, count: number, here: RunWork, signal: AbortSignal) {
    this.here = here;
    this.signal = signal;
    for (let index = 0; index < count; index += 1) this.start(file);
    signal.addEventListener('abort', this.onAbort);
  }

  async read(source: RunSource, standalone: StandaloneReading): Promise<ReadRun[]> {
    const answer = await this.ask({ kind: 'read', source, standalone });
    return answer?.kind === 'read' ? runsOf(answer) : this.here.read(source, standalone);
  }

  async keep(target: string, files: ReadonlyMap<string, string>, manifest: RunManifest): Promise<void> {
    const answer = await this.ask({ kind: 'keep', target, files, manifest });
    if (answer?.kind !== 'kept') await this.here.keep(target, files, manifest);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.signal.removeEventListener('abort', this.onAbort);
    await Promise.all([...this.working.keys()].map((worker) => worker.terminate()));
  }

  private start(file: string): void {
    const worker = new Worker(file, { resourceLimits: RESOURCES });
    this.working.set(worker, new Map());
    worker.on('message', ({ id, ...answer }: Answer & { readonly id: number }) => {
      const own = this.working.get(worker);
      own?.get(id)?.resolve(answer);
      own?.delete(id);
      this.handOut();
    });
    // What ended it shows again in this thread, if it was a run.
    worker.on('error', () => {});
    worker.on('exit', () => this.left(worker));
  }

  private ask(task: Task): Promise<Answer | null> {
    if (this.working.size === 0 || this.signal.aborted) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.waiting.push({ task, resolve });
      this.handOut();
    });
  }

  private handOut(): void {
    for (;;) {
      const idlest = [...this.working].toSorted(([, a], [, b]) => a.size - b.size)[0];
      if (idlest === undefined || idlest[1].size >= AT_ONCE) return;
      const asked = this.waiting.shift();
      if (asked === undefined) return;
      const [worker, own] = idlest;
      const id = (this.next += 1);
      own.set(id, asked);
      worker.postMessage({ ...asked.task, id }, []);
    }
  }

  private left(worker: Worker): void {
    for (const { resolve } of this.working.get(worker)?.values() ?? []) resolve(null);
    this.working.delete(worker);
    if (this.working.size === 0) for (const { resolve } of this.waiting.splice(0)) resolve(null);
    else this.handOut();
  }

  /** What is kept is kept to its end; nobody waits for what is read. */
  private readonly onAbort = (): void => {
    const { keep = [], read = [] } = Object.groupBy(this.waiting, ({ task }) => task.kind);
    this.waiting = keep;
    const begun = [...this.working.values()].flatMap((own) => [...own.values()]);
    for (const { resolve } of [...read, ...begun.filter(({ task }) => task.kind === 'read')]) resolve(null);
  };
}
