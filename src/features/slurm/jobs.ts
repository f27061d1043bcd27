import { appendFileSync, existsSync, readFileSync } from 'node:fs';

import * as z from 'zod';

import type { RunFolder } from './run-folder.ts';

const job = { at: z.string(), jobId: z.string().regex(/^\d+$/), cluster: z.string().nullable() };
const shards = z.array(z.number().int());

const entrySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('submitted'), ...job, offset: z.number().int(), shards }),
  z.object({ kind: z.literal('collector'), ...job }),
  z.object({ kind: z.literal('cancelled'), at: z.string(), shards }),
]);

export type JobEntry = z.infer<typeof entrySchema>;
export type SubmittedArray = Extract<JobEntry, { kind: 'submitted' }>;

/** Adds a line to `jobs.jsonl`: what Slurm accepted, and what was cancelled. On disk before the next step is taken. */
export function recordJob({ jobsPath }: RunFolder, entry: JobEntry): void {
  appendFileSync(jobsPath, `${JSON.stringify(entry)}\n`, { flush: true });
}

/** Without a line that a crash has cut off. */
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

/** Shards that were cancelled and not submitted since. */
export function cancelledShards(entries: readonly JobEntry[]): Set<number> {
  const cancelled = new Set<number>();
  for (const entry of entries) {
    if (entry.kind === 'cancelled') for (const shard of entry.shards) cancelled.add(shard);
    if (entry.kind === 'submitted') for (const shard of entry.shards) cancelled.delete(shard);
  }
  return cancelled;
}

/** The task of a shard: that of the newest array that has it. Null before the shard was submitted. */
export function taskOf(
  arrays: readonly SubmittedArray[],
  shard: number,
): { readonly array: SubmittedArray; readonly task: string } | null {
  const array = arrays.findLast((each) => each.shards.includes(shard));
  return array === undefined ? null : { array, task: `${array.jobId}_${shard - array.offset}` };
}
