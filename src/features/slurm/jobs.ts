import { appendFileSync, existsSync, readFileSync, statSync } from 'node:fs';

import * as z from 'zod';

import { lastLinesOf } from '../../files/files.ts';
import type { Io } from '../../cli/io.ts';
import { printable } from '../../text/printable.ts';
import { SlurmClient } from '../../tools/slurm/slurm-client.ts';
import { type ShardStatus, type TaskRow, isLiving, reconcileShard, signalName } from '../../tools/slurm/states.ts';
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

/** Shards that were cancelled and not submitted again. */
function cancelledShards(entries: readonly JobEntry[]): Set<number> {
  const cancelled = new Set<number>();
  for (const entry of entries) {
    if (entry.kind === 'cancelled') for (const shard of entry.shards) cancelled.add(shard);
    if (entry.kind === 'submitted') for (const shard of entry.shards) cancelled.delete(shard);
  }
  return cancelled;
}

/** The task of a shard in its newest array; null if it was never submitted. */
export function taskOf(
  arrays: readonly SubmittedArray[],
  shard: number,
): { readonly array: SubmittedArray; readonly task: string } | null {
  const array = arrays.findLast((each) => each.shards.includes(shard));
  return array === undefined ? null : { array, task: `${array.jobId}_${shard - array.offset}` };
}

const DAY_MS = 86_400_000;

export type SlurmAnswer = Awaited<ReturnType<typeof askSlurm>>;

/** Queries Slurm for the tasks of these arrays, to explain unfinished shards. */
export async function askSlurm(
  client: SlurmClient,
  jobs: readonly SubmittedArray[],
  isDone: (shard: number) => boolean,
  onNote: (text: string) => void,
) {
  const rows = new Map<string, TaskRow>();
  const living = new Set<string>();
  let isAnswering = true;
  for (const [cluster, members] of Map.groupBy(jobs, (job) => job.cluster)) {
    const ids = members.map(({ jobId }) => jobId);
    const queue = await client.queue(ids, cluster);
    if (queue.kind === 'unreachable') {
      onNote(`Slurm does not answer (${queue.problem}); bench draws no conclusion from that`);
      isAnswering = false;
      continue;
    }
    for (const row of queue.rows) {
      rows.set(row.task, row);
      living.add(row.task);
    }
    await explainEnded(client, members, rows, cluster, isDone);
    const expected = members.flatMap(({ jobId, offset, shards }) =>
      shards.filter((shard) => !isDone(shard)).map((shard) => `${jobId}_${shard - offset}`),
    );
    if (expected.every((task) => rows.has(task))) continue;
    const since = members.map(({ at }) => Date.parse(at)).toSorted((a, b) => a - b)[0] ?? 0;
    const day = new Date(since - DAY_MS).toISOString().slice(0, 10);
    for (const row of await client.past(ids, day, cluster)) {
      // squeue takes precedence for active tasks, because accounting lags.
      if (!rows.has(row.task) && row.state !== 'PENDING') rows.set(row.task, row);
    }
    // Only a controller that answers can report a job as lost.
    if (!(await client.isAnswering(cluster))) isAnswering = false;
  }
  return { rows, living, isAnswering };
}

/** Exit codes and restarts, only for ended tasks with unfinished shards. */
async function explainEnded(
  client: SlurmClient,
  jobs: readonly SubmittedArray[],
  rows: Map<string, TaskRow>,
  cluster: string | null,
  isDone: (shard: number) => boolean,
): Promise<void> {
  for (const { jobId, offset, shards } of jobs) {
    const ended = shards.filter((shard) => {
      const row = rows.get(`${jobId}_${shard - offset}`);
      return !isDone(shard) && row !== undefined && /^(?:FAILED|OUT_OF|TIMEOUT)/.test(row.state);
    });
    if (ended.length === 0) continue;
    for (const row of await client.details(jobId, cluster)) {
      const known = rows.get(row.task);
      if (known === undefined) continue;
      const { exitCode, signal, restarts } = row;
      rows.set(row.task, { ...known, exitCode, signal, restarts });
    }
  }
}

const TAIL_LINES = 3;

/** State of every shard: a finished folder is the truth, Slurm only explains missing ones. */
export class ShardWatch {
  private readonly folder: RunFolder;
  private readonly plan: RunPlan;
  private readonly client: SlurmClient;
  private readonly io: Io;
  private readonly lostAfterS: number;
  private done: ReadonlySet<number> = new Set();
  private readonly seenMs = new Map<number, number>();
  private readonly noted = new Set<string>();

  /** @param lostAfter seconds after which a shard that Slurm does not list counts as lost */
  constructor(plan: RunPlan, { lostAfter }: { readonly lostAfter: number }, io: Io) {
    this.folder = plan.folder;
    this.plan = plan;
    this.client = new SlurmClient(io.env, io.signal);
    this.lostAfterS = lostAfter;
    this.io = io;
  }

  /** By its folder, else by Slurm. */
  async look(): Promise<ShardStatus[]> {
    this.done = new Set(await finishedShards(this.plan));
    const entries = readJobs(this.folder);
    const arrays = submittedArrays(entries);
    const cancelled = cancelledShards(entries);
    const missing = this.plan.shards.filter(({ index }) => !this.done.has(index));
    const arrayIds = new Set(missing.flatMap(({ index }) => taskOf(arrays, index)?.array ?? []));
    const isDone = (shard: number): boolean => this.done.has(shard);
    const answer = await askSlurm(this.client, [...arrayIds], isDone, (text) => this.note(text));
    // A shard may have finished during the query.
    this.done = new Set(await finishedShards(this.plan));
    const nowMs = this.io.now().getTime();
    const statuses: ShardStatus[] = [];
    for (const { index } of this.plan.shards) {
      statuses.push(await this.statusOf(index, arrays, answer, cancelled.has(index), nowMs));
    }
    return statuses;
  }

  private async statusOf(
    shard: number,
    arrays: readonly SubmittedArray[],
    answer: SlurmAnswer,
    isCancelled: boolean,
    nowMs: number,
  ): Promise<ShardStatus> {
    const { folder } = this;
    const task = taskOf(arrays, shard);
    const base = { shard, task: task?.task ?? null, log: task === null ? null : folder.log(task.task), lastLines: [] };
    if (this.done.has(shard)) {
      return { ...base, node: null, restarts: null, exitCode: null, signal: null, state: 'done', reason: '' };
    }
    const row = task === null ? null : (answer.rows.get(task.task) ?? null);
    const attempts = readAttempts(folder, shard);
    const own = attempts.findLast((attempt) => attempt.task === base.task) ?? null;
    if (row !== null && answer.living.has(row.task) && isLiving(row.state)) this.seenMs.set(shard, nowMs);
    const { state, reason } = reconcileShard({
      isSubmitted: task !== null,
      isCancelled,
      endedWith: own?.exitCode ?? null,
      lastSeenMs: Math.max(
        this.seenMs.get(shard) ?? 0,
        task === null ? 0 : Date.parse(task.array.at),
        base.log === null ? 0 : (statSync(base.log, { throwIfNoEntry: false })?.mtimeMs ?? 0),
        own === null ? 0 : Date.parse(own.endedAt ?? own.startedAt),
      ),
      row,
      isPast: row !== null && !answer.living.has(row.task),
      controllerAnswers: answer.isAnswering,
      nowMs,
      lostAfterMs: this.lostAfterS * 1000,
    });
    const isBad = state === 'failed' || state === 'timeout' || state === 'lost';
    const lines = isBad && base.log !== null ? lastLinesOf(base.log, TAIL_LINES).map(printable) : [];
    const problem = state === 'failed' && own?.problem ? `: ${own.problem}` : '';
    return {
      ...base,
      state,
      reason: `${reason}${problem}`,
      node: row?.node ?? own?.node ?? null,
      restarts: row?.restarts ?? own?.restart ?? null,
      exitCode: row?.exitCode ?? own?.exitCode ?? null,
      signal: row?.signal ? signalName(row.signal) : (own?.signal ?? null),
      lastLines: lines,
    };
  }

  private note(text: string): void {
    if (this.noted.has(text)) return;
    this.noted.add(text);
    this.io.err(`note: ${printable(text)}\n`);
  }
}
