import { appendFileSync, existsSync, readFileSync } from 'node:fs';

import * as z from 'zod';

import type { SlurmClient } from '../../tools/slurm/slurm-client.ts';
import type { TaskRow } from '../../tools/slurm/task-rows.ts';
import type { RunFolder } from './run-folder.ts';

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
export function cancelledShards(entries: readonly JobEntry[]): Set<number> {
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
      onNote(`Slurm gives no answer (${queue.problem}); nothing is concluded from that`);
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
