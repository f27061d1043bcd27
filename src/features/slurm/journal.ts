import { appendFileSync, closeSync, fsyncSync, openSync, readFileSync } from 'node:fs';

import * as z from 'zod';

import type { SubmittedJob } from '../../tools/slurm/names.ts';
import type { RunFolder } from './run-folder.ts';

const base = { at: z.string(), token: z.string() };

const entrySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('intent'), ...base, argv: z.array(z.string()), shards: z.array(z.number().int()) }),
  z.object({
    kind: z.literal('submitted'),
    ...base,
    jobId: z.string().regex(/^\d+$/),
    cluster: z.string().nullable(),
    offset: z.number().int(),
    shards: z.array(z.number().int()),
  }),
  z.object({ kind: z.literal('refused'), ...base, problem: z.string() }),
  z.object({ kind: z.literal('collector'), ...base, jobId: z.string().regex(/^\d+$/), cluster: z.string().nullable() }),
  z.object({ kind: z.literal('cancelled'), at: z.string(), shards: z.array(z.number().int()) }),
]);

export type JournalEntry = z.infer<typeof entrySchema>;
export type SubmittedEntry = Extract<JournalEntry, { kind: 'submitted' }>;

/** `submit.jsonl`: what was to be submitted, then what became of it. On disk before the next step is taken. */
export function writeJournal(folder: RunFolder, entry: JournalEntry): void {
  const file = openSync(folder.journalPath, 'a');
  try {
    appendFileSync(file, `${JSON.stringify(entry)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** A line that a crash has cut is left out. */
export function readJournal(folder: RunFolder): JournalEntry[] {
  let text: string;
  try {
    text = readFileSync(folder.journalPath, 'utf8');
  } catch {
    return [];
  }
  return text.split('\n').flatMap((line) => {
    try {
      return [entrySchema.parse(JSON.parse(line))];
    } catch {
      return [];
    }
  });
}

export function submittedJobs(journal: readonly JournalEntry[]): SubmittedEntry[] {
  return journal.filter((entry) => entry.kind === 'submitted');
}

export function toJob({ jobId, cluster, shards }: SubmittedEntry): SubmittedJob {
  return { jobId, cluster, shards };
}

/** The task that is to do a shard: of the newest array that has it. Null before it was submitted. */
export function taskOf(
  jobs: readonly SubmittedEntry[],
  shard: number,
): { readonly job: SubmittedEntry; readonly task: string } | null {
  const job = jobs.findLast(({ shards }) => shards.includes(shard));
  return job === undefined ? null : { job, task: `${job.jobId}_${shard - job.offset}` };
}
