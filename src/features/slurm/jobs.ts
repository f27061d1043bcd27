import { appendFileSync, existsSync, readFileSync, statSync } from 'node:fs';

import * as z from 'zod';

import { lastLinesOf } from '../../files/files.ts';
import type { Io } from '../../cli/io.ts';
import { printable } from '../../text/printable.ts';
import { SlurmClient } from '../../tools/slurm/slurm-client.ts';
import { type ShardStatus, type TaskRow, isLiving, reconcileShard } from '../../tools/slurm/states.ts';
import { type RunFolder, type RunPlan, finishedShards, readAttempts } from './run-folder.ts';

const jobShape = { at: z.string(), jobId: z.string().regex(/^\d+$/), cluster: z.string().nullable() };
const shardsSchema = z.array(z.number().int());

const entrySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('submitted'), ...jobShape, offset: z.number().int(), shards: shardsSchema }),
  z.object({ kind: z.literal('collector'), ...jobShape }),
  z.object({ kind: z.literal('cancelled'), at: z.string(), shards: shardsSchema }),
]);

export type JobEntry = z.infer<typeof entrySchema>;
export type SubmittedArray = Extract<JobEntry, { kind: 'submitted' }>;

/** Appends to `jobs.jsonl` and syncs it before the next step. */
export function recordJob({ jobsPath }: RunFolder, entry: JobEntry): void {
  appendFileSync(jobsPath, `${JSON.stringify(entry)}\n`, { flush: true });
}

/** Ignores a line that a crash truncated. */
export function readJobs({ jobsPath }: RunFolder): JobEntry[] {
  if (!existsSync(jobsPath)) return [];
  return readFileSync(jobsPath, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [entrySchema.parse(JSON.parse(line))];
      } catch {
        return [];
      }
    });
}

export function submittedArrays(entries: readonly JobEntry[]): SubmittedArray[] {
  return entries.filter((entry) => entry.kind === 'submitted');
}

/** Cancelled and not submitted again. */
function isCancelled(entries: readonly JobEntry[], shard: number): boolean {
  const newest = entries.findLast((entry) => entry.kind !== 'collector' && entry.shards.includes(shard));
  return newest?.kind === 'cancelled';
}

function taskIn({ jobId, offset }: SubmittedArray, shard: number): string {
  return `${jobId}_${shard - offset}`;
}

type ShardTask = NonNullable<ReturnType<typeof taskOf>>;

/** The task of a shard in its newest array; null if it was never submitted. */
export function taskOf(arrays: readonly SubmittedArray[], shard: number) {
  const array = arrays.findLast((each) => each.shards.includes(shard));
  return array === undefined ? null : { array, task: taskIn(array, shard) };
}

const DAY_MS = 86_400_000;
const TAIL_LINES = 3;

interface SlurmAnswer {
  readonly rows: ReadonlyMap<string, TaskRow>;
  readonly isAnswering: boolean;
}

/** State of every shard: a finished folder is the truth, Slurm only explains missing ones. */
export class ShardWatch {
  private readonly plan: RunPlan;
  private readonly client: SlurmClient;
  private readonly io: Io;
  private readonly lostAfterMs: number;
  private readonly seenMs = new Map<number, number>();
  private readonly noted = new Set<string>();

  /** @param lostAfter seconds after which a shard that Slurm does not list counts as lost */
  constructor(plan: RunPlan, { lostAfter }: { readonly lostAfter: number }, io: Io) {
    this.plan = plan;
    this.client = new SlurmClient(io.env, io.signal);
    this.lostAfterMs = lostAfter * 1000;
    this.io = io;
  }

  /** By its folder, else by Slurm. */
  async look(): Promise<ShardStatus[]> {
    const { folder, shards } = this.plan;
    const entries = readJobs(folder);
    const arrays = submittedArrays(entries);
    const before = new Set(await finishedShards(this.plan));
    const missing = shards.filter(({ index }) => !before.has(index));
    const asked = new Set(missing.flatMap(({ index }) => taskOf(arrays, index)?.array ?? []));
    const answer = await this.askSlurm([...asked], before);
    // A shard may have finished during the query.
    const done = new Set(await finishedShards(this.plan));
    return shards.map(({ index }) => {
      const task = taskOf(arrays, index);
      if (!done.has(index)) return this.unfinished(index, task, answer, isCancelled(entries, index));
      return { ...this.known(index, task), state: 'done', reason: '' };
    });
  }

  /** Queries Slurm for the tasks of these arrays, to explain unfinished shards. */
  private async askSlurm(arrays: readonly SubmittedArray[], done: ReadonlySet<number>): Promise<SlurmAnswer> {
    const rows = new Map<string, TaskRow>();
    let isAnswering = true;
    for (const [cluster, members] of Map.groupBy(arrays, (array) => array.cluster)) {
      const ids = members.map(({ jobId }) => jobId);
      const queue = await this.client.queue(ids, cluster);
      if (typeof queue === 'string') {
        this.note(`Slurm does not answer (${queue}); bench draws no conclusion from that`);
        isAnswering = false;
        continue;
      }
      for (const row of queue) rows.set(row.task, row);
      const missing = members.flatMap((array) =>
        array.shards.filter((shard) => !done.has(shard)).map((shard) => taskIn(array, shard)),
      );
      if (missing.every((task) => rows.has(task))) continue;
      const since = Math.min(...members.map(({ at }) => Date.parse(at)));
      const day = new Date(since - DAY_MS).toISOString().slice(0, 10);
      for (const row of await this.client.past(ids, day, cluster)) {
        // squeue takes precedence for active tasks, because accounting lags.
        if (!rows.has(row.task) && row.state !== 'PENDING') rows.set(row.task, row);
      }
      // Only a controller that answers can report a job as lost.
      if (!(await this.client.isAnswering(cluster))) isAnswering = false;
    }
    return { rows, isAnswering };
  }

  private known(shard: number, task: ShardTask | null) {
    const log = task === null ? null : this.plan.folder.log(task.task);
    const unknown = { node: null, restarts: null, exitCode: null, signal: null, lastLines: [] };
    return { shard, task: task?.task ?? null, log, ...unknown };
  }

  private unfinished(
    shard: number,
    task: ShardTask | null,
    { isAnswering, rows }: SlurmAnswer,
    wasCancelled: boolean,
  ): ShardStatus {
    const known = this.known(shard, task);
    const row = task === null ? null : (rows.get(task.task) ?? null);
    const attempts = readAttempts(this.plan.folder, shard);
    const attempt = attempts.findLast((each) => each.task === known.task) ?? null;
    const nowMs = this.io.now().getTime();
    if (row !== null && isLiving(row)) this.seenMs.set(shard, nowMs);
    const lastSeenMs = Math.max(
      this.seenMs.get(shard) ?? 0,
      task === null ? 0 : Date.parse(task.array.at),
      known.log === null ? 0 : (statSync(known.log, { throwIfNoEntry: false })?.mtimeMs ?? 0),
      attempt === null ? 0 : Date.parse(attempt.endedAt ?? attempt.startedAt),
    );
    const { state, reason } = reconcileShard({
      isSubmitted: task !== null,
      isCancelled: wasCancelled,
      endedWith: attempt?.exitCode ?? null,
      row,
      controllerAnswers: isAnswering,
      isOverdue: isAnswering && nowMs - lastSeenMs > this.lostAfterMs,
    });
    const isBad = state === 'failed' || state === 'timeout' || state === 'lost';
    const problem = state === 'failed' && attempt?.problem ? `: ${attempt.problem}` : '';
    return {
      ...known,
      state,
      reason: `${reason}${problem}`,
      node: row?.node ?? attempt?.node ?? null,
      restarts: row?.restarts ?? attempt?.restart ?? null,
      exitCode: row?.exitCode ?? attempt?.exitCode ?? null,
      signal: row?.signal ?? attempt?.signal ?? null,
      lastLines: isBad && known.log !== null ? lastLinesOf(known.log, TAIL_LINES).map(printable) : [],
    };
  }

  private note(text: string): void {
    if (this.noted.has(text)) return;
    this.noted.add(text);
    this.io.err(`note: ${printable(text)}\n`);
  }
}
