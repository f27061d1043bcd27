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

/**
 * Gives the state of every shard: a finished folder is the truth, Slurm only explains missing ones.
 * @param lostAfter seconds after which a shard that Slurm does not list counts as lost
 */
export function shardStates(plan: RunPlan, { lostAfter }: { readonly lostAfter: number }, io: Io) {
  const { folder, shards } = plan;
  const seenMs = new Map<number, number>();
  const noted = new Set<string>();
  return async (): Promise<ShardStatus[]> => {
    const arrays = readJobs(folder).filter((entry) => entry.kind === 'submitted');
    const tasks = new Map(shards.map(({ index }) => [index, taskOf(arrays, index)]));
    const before = await finishedShards(plan);
    const missing = [...tasks].flatMap(([index, task]) => (before.has(index) ? [] : (task ?? [])));
    const { problems, rows } = await askSlurm(missing, io);
    for (const text of problems) {
      if (!noted.has(text)) io.err(`note: ${printable(text)}\n`);
      noted.add(text);
    }
    // A shard may have finished during the query.
    const done = await finishedShards(plan);
    return [...tasks].map(([shard, task]): ShardStatus => {
      const row = task === null ? null : (rows.get(task.task) ?? null);
      const log = task === null ? null : folder.log(task.task);
      const unknown = { node: null, restarts: null, exitCode: null, signal: null, lastLines: [] };
      const known = { shard, task: task?.task ?? null, log, ...unknown };
      if (done.has(shard)) return { ...known, state: 'done', reason: '' };
      const nowMs = io.now().getTime();
      if (row !== null && isLiving(row)) seenMs.set(shard, nowMs);
      const attempt = readAttempts(folder, shard).findLast((each) => each.task === known.task) ?? null;
      const lastSeenMs = Math.max(
        seenMs.get(shard) ?? 0,
        task === null ? 0 : Date.parse(task.array.at),
        log === null ? 0 : (statSync(log, { throwIfNoEntry: false })?.mtimeMs ?? 0),
        attempt === null ? 0 : Date.parse(attempt.endedAt ?? attempt.startedAt),
      );
      const { state, reason } = reconcileShard({
        isSubmitted: task !== null,
        endedWith: attempt?.exitCode ?? null,
        row,
        controllerAnswers: problems.size === 0,
        isOverdue: problems.size === 0 && nowMs - lastSeenMs > lostAfter * 1000,
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
        lastLines: isBad && log !== null ? lastLinesOf(log, TAIL_LINES).map(printable) : [],
      };
    });
  };
}

/** What Slurm says of tasks of unfinished shards, and why it does not answer. */
async function askSlurm(unfinished: readonly ShardTask[], { env, signal }: Io) {
  const client = new SlurmClient(env, signal);
  const rows = new Map<string, TaskRow>();
  const problems = new Set<string>();
  for (const [cluster, tasks] of Map.groupBy(unfinished, ({ array }) => array.cluster)) {
    const ids = [...new Set(tasks.map(({ array }) => array.jobId))];
    const queue = await client.queue(ids, cluster);
    if (typeof queue === 'string') {
      problems.add(`Slurm does not answer (${queue}); bench draws no conclusion from that`);
      continue;
    }
    const isListed = ({ task }: ShardTask): boolean => queue.some((row) => row.task === task);
    const since = Math.min(...tasks.map(({ array }) => Date.parse(array.at))) - DAY_MS;
    const day = new Date(since).toISOString().slice(0, 10);
    const past = tasks.every(isListed) ? [] : await client.past(ids, day, cluster);
    // squeue takes precedence for active tasks, because accounting lags.
    for (const row of [...past.filter(({ state }) => state !== 'PENDING'), ...queue]) rows.set(row.task, row);
  }
  return { problems, rows };
}
