import { appendFileSync, readFileSync, statSync } from 'node:fs';

import * as z from 'zod';

import { lastLinesOf } from '../../files/files.ts';
import type { Io } from '../../cli/io.ts';
import { orNull } from '../../process/process-identity.ts';
import { printable } from '../../text/printable.ts';
import { SlurmClient } from '../../tools/slurm/slurm-client.ts';
import { type ShardStatus, type TaskRow, isLiving, reconcileShard } from '../../tools/slurm/states.ts';
import { type RunFolder, type RunPlan, finishedShards, readAttempts } from './run-folder.ts';

const jobShape = { at: z.string(), jobId: z.string().regex(/^\d+$/), cluster: z.string().nullable() };
const entrySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('submitted'), ...jobShape, offset: z.number().int(), shards: z.array(z.number().int()) }),
  z.object({ kind: z.literal('collector'), ...jobShape }),
]);

type JobEntry = z.infer<typeof entrySchema>;
type SubmittedArray = Extract<JobEntry, { kind: 'submitted' }>;

/** Appends to `jobs.jsonl` and syncs it before the next step. */
export function recordJob({ jobsPath }: RunFolder, entry: JobEntry): void {
  appendFileSync(jobsPath, `${JSON.stringify(entry)}\n`, { flush: true });
}

/** Ignores a line that a crash truncated. */
export function readJobs({ jobsPath }: RunFolder): JobEntry[] {
  const lines = (orNull(() => readFileSync(jobsPath, 'utf8')) ?? '').split('\n');
  return lines.flatMap((line) => orNull(() => entrySchema.parse(JSON.parse(line))) ?? []);
}

type ShardTask = NonNullable<ReturnType<typeof taskOf>>;

/** The task of a shard in its newest array; null if it was never submitted. */
function taskOf(arrays: readonly SubmittedArray[], shard: number) {
  const array = arrays.findLast((each) => each.shards.includes(shard));
  return array === undefined ? null : { array, task: `${array.jobId}_${shard - array.offset}` };
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
    const arrays = readJobs(folder).filter((entry) => entry.kind === 'submitted');
    const tasks = new Map(shards.map(({ index }) => [index, taskOf(arrays, index)]));
    const before = await finishedShards(this.plan);
    const answer = await this.askSlurm([...tasks].flatMap(([index, task]) => (before.has(index) ? [] : (task ?? []))));
    // A shard may have finished during the query.
    const done = await finishedShards(this.plan);
    return [...tasks].map(([shard, task]) => {
      const log = task === null ? null : folder.log(task.task);
      const unknown = { node: null, restarts: null, exitCode: null, signal: null, lastLines: [] };
      const known = { shard, task: task?.task ?? null, log, ...unknown };
      return done.has(shard)
        ? { ...known, state: 'done', reason: '' }
        : { ...known, ...this.unfinished(shard, task, log, answer) };
    });
  }

  /** Queries Slurm for tasks, to explain unfinished shards. */
  private async askSlurm(unfinished: readonly ShardTask[]): Promise<SlurmAnswer> {
    const rows = new Map<string, TaskRow>();
    let isAnswering = true;
    for (const [cluster, tasks] of Map.groupBy(unfinished, ({ array }) => array.cluster)) {
      const ids = [...new Set(tasks.map(({ array }) => array.jobId))];
      const queue = await this.client.queue(ids, cluster);
      if (typeof queue === 'string') {
        this.note(`Slurm does not answer (${queue}); bench draws no conclusion from that`);
        isAnswering = false;
        continue;
      }
      const isListed = ({ task }: ShardTask): boolean => queue.some((row) => row.task === task);
      const since = Math.min(...tasks.map(({ array }) => Date.parse(array.at))) - DAY_MS;
      const day = new Date(since).toISOString().slice(0, 10);
      const past = tasks.every(isListed) ? [] : await this.client.past(ids, day, cluster);
      // squeue takes precedence for active tasks, because accounting lags.
      for (const row of [...past.filter(({ state }) => state !== 'PENDING'), ...queue]) rows.set(row.task, row);
    }
    return { rows, isAnswering };
  }

  private unfinished(shard: number, task: ShardTask | null, log: string | null, { isAnswering, rows }: SlurmAnswer) {
    const row = task === null ? null : (rows.get(task.task) ?? null);
    const attempts = readAttempts(this.plan.folder, shard);
    const attempt = attempts.findLast((each) => each.task === (task?.task ?? null)) ?? null;
    const nowMs = this.io.now().getTime();
    if (row !== null && isLiving(row)) this.seenMs.set(shard, nowMs);
    const lastSeenMs = Math.max(
      this.seenMs.get(shard) ?? 0,
      task === null ? 0 : Date.parse(task.array.at),
      log === null ? 0 : (statSync(log, { throwIfNoEntry: false })?.mtimeMs ?? 0),
      attempt === null ? 0 : Date.parse(attempt.endedAt ?? attempt.startedAt),
    );
    const { state, reason } = reconcileShard({
      isSubmitted: task !== null,
      endedWith: attempt?.exitCode ?? null,
      row,
      controllerAnswers: isAnswering,
      isOverdue: isAnswering && nowMs - lastSeenMs > this.lostAfterMs,
    });
    const isBad = state === 'failed' || state === 'timeout' || state === 'lost';
    const problem = state === 'failed' && attempt?.problem ? `: ${attempt.problem}` : '';
    return {
      state,
      reason: `${reason}${problem}`,
      node: row?.node ?? attempt?.node ?? null,
      restarts: row?.restarts ?? attempt?.restart ?? null,
      exitCode: row?.exitCode ?? attempt?.exitCode ?? null,
      signal: row?.signal ?? attempt?.signal ?? null,
      lastLines: isBad && log !== null ? lastLinesOf(log, TAIL_LINES).map(printable) : [],
    };
  }

  private note(text: string): void {
    if (this.noted.has(text)) return;
    this.noted.add(text);
    this.io.err(`note: ${printable(text)}\n`);
  }
}
