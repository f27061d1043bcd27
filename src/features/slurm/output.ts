import * as z from 'zod';

import { SHARD_STATES, shardStatusSchema } from '../../tools/slurm/states.ts';
import { count, id, output, type OutputOf } from '../../records/output-parts.ts';

const job = z.strictObject({
  jobId: z.string(),
  cluster: z.string().nullable().describe('Null for the cluster of this machine'),
});

export const submitted = output('bench run --executor slurm --json without --wait, and bench slurm resume --json', {
  sweepId: id,
  runFolder: z.string(),
  cells: count,
  shards: count.describe('Number of shards of the whole run'),
  estimateS: z.number().describe('Estimate for the longest shard'),
  jobs: z.array(job.extend({ shards: z.array(count) })).describe('Job arrays, in their order'),
  collector: job.nullable().describe('The job that collects, with --collect-job'),
  left: z.array(count).describe('Shards that Slurm would not take now'),
  problem: z.string().nullable(),
});

export const collected = output('bench slurm collect --json, and every --wait --json', {
  sweepId: id,
  runFolder: z.string(),
  isFinished: z.boolean().describe('Every shard is in the store'),
  stored: count.describe('Runs that were not in the store before'),
  alreadyStored: count,
  incompleteCells: count.describe('Cells with fewer measured runs than planned'),
  refused: z
    .array(z.strictObject({ shard: count, problem: z.string() }))
    .describe('Runs left out because they do not state this sweep'),
  counts: z.record(z.enum(SHARD_STATES), count),
  shards: z.array(shardStatusSchema),
});

export const cancelled = output('bench slurm cancel --json', {
  sweepId: id,
  runFolder: z.string(),
  jobs: z.array(job),
  shards: z.array(count).describe('Shards without a result that were submitted'),
});

export type SubmitOutput = OutputOf<typeof submitted>;
export type CollectOutput = OutputOf<typeof collected>;
export type CancelOutput = OutputOf<typeof cancelled>;
