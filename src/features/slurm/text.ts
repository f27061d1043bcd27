import * as z from 'zod';

import { type OutputOf, count as countSchema, id, output } from '../../records/output-parts.ts';
import { type Look, truncate } from '../../terminal/look.ts';
import { count, formatDuration } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { printable } from '../../text/printable.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import { rangesOf } from './sbatch-args.ts';
import { SHARD_STATES, type ShardStatus, isOver, shardStatusSchema } from '../../tools/slurm/states.ts';

export function submitText(report: SubmitOutput): string[] {
  const { jobs, left, collector } = report;
  const sent = jobs.flatMap((job) => job.shards);
  const names = jobs.map(({ jobId, cluster }) => (cluster === null ? jobId : `${jobId} on ${cluster}`));
  const run = shellQuote(report.runFolder);
  const refused = `${count(left.length, 'shard')} not accepted by Slurm (${printable(report.problem ?? '')}): later, bench slurm resume ${run}`;
  return [
    `${count(sent.length, 'shard')} of ${count(report.cells, 'cell')} submitted, up to ${formatDuration(report.estimateS)} each: ${jobs.length === 1 ? 'job' : 'jobs'} ${names.join(', ')}`,
    ...(collector === null ? [] : [`job ${collector.jobId} collects the results when they have ended`]),
    ...(left.length === 0 ? [] : [refused]),
    '',
    `follow the jobs   bench slurm collect ${run} --wait`,
    `collect results   bench slurm collect ${run}      repeat it as needed`,
    `cancel the jobs   bench slurm cancel ${run}`,
  ];
}

const MAX_ROWS = 40;

export function collectText(report: CollectOutput, storePath: string, look: Look): string[] {
  const { shards: statuses, stored, alreadyStored, refused, isFinished, incompleteCells } = report;
  const { style } = look;
  const rows = statuses
    .filter(({ state }) => state !== 'done')
    .toSorted((a, b) => Number(isOver(b)) - Number(isOver(a)) || a.shard - b.shard);
  const lines = rows.length === 0 ? [] : shardTable(rows.slice(0, MAX_ROWS), look);
  if (rows.length > MAX_ROWS) lines.push(style.dim(`… and ${rows.length - MAX_ROWS} more`));
  for (const { shard, log, lastLines } of rows.slice(0, MAX_ROWS)) {
    if (lastLines.length === 0) continue;
    lines.push('', style.dim(truncate(`shard ${shard}: ${printable(log ?? '')}`, look.columns)));
    lines.push(...lastLines.map((line) => truncate(`  ${printable(line)}`, look.columns)));
  }
  lines.push(...refused.map(({ shard, problem }) => style.bad(`shard ${shard}: ${printable(problem)}; left out`)));
  if (lines.length > 0) lines.push('');
  const there = alreadyStored === 0 ? '' : `, ${alreadyStored} already stored`;
  lines.push(`${stateCounts(statuses)}; ${count(stored, 'run')} stored in ${printable(storePath)}${there}`);
  const run = shellQuote(report.runFolder);
  const living = statuses.some((status) => !isOver(status) && status.state !== 'planned');
  const shownId = report.sweepId.slice(0, 8);
  const lacking = `sweep ${shownId} is in, but ${count(incompleteCells, 'cell')} ${incompleteCells === 1 ? 'lacks' : 'lack'} runs: bench show ${shownId}`;
  if (isFinished && incompleteCells > 0) lines.push(style.warn(lacking));
  else if (isFinished) lines.push(`sweep ${shownId} is complete: bench show ${shownId}, bench check`);
  else if (living) lines.push(`still running: bench slurm collect ${run} --wait`);
  else lines.push(`measure what is missing: bench slurm resume ${run}`);
  return lines;
}

function shardTable(rows: readonly ShardStatus[], look: Look): string[] {
  const { style } = look;
  const right = 'right' as const;
  return renderTable<ShardStatus>(
    [
      { header: 'shard', text: ({ shard }) => String(shard), align: right },
      { header: 'state', text: ({ state }) => state, style: (row) => (isOver(row) ? style.bad : style.dim) },
      { header: 'reason', text: ({ reason }) => printable(reason), minWidth: 14 },
      { header: 'node', text: ({ node }) => printable(node ?? ''), dropRank: 1 },
      { header: 'task', text: ({ task }) => task ?? '', dropRank: 2 },
      {
        header: 'restarts',
        text: ({ restarts }) => (restarts === null || restarts === 0 ? '' : String(restarts)),
        align: right,
        dropRank: 3,
      },
    ],
    rows,
    look,
  );
}

export function countStates(statuses: readonly ShardStatus[]): CollectOutput['counts'] {
  const counts = { planned: 0, queued: 0, running: 0, done: 0, failed: 0, timeout: 0, cancelled: 0, lost: 0 };
  for (const { state } of statuses) counts[state] += 1;
  return counts;
}

/** `8 shards: 1 running, 6 done, 1 failed` */
export function stateCounts(statuses: readonly ShardStatus[]): string {
  const counts = countStates(statuses);
  const parts = SHARD_STATES.filter((state) => counts[state] > 0).map((state) => `${counts[state]} ${state}`);
  return `${count(statuses.length, 'shard')}: ${parts.join(', ')}`;
}

/** A line about tasks that may wait forever. */
export function pendingLine(waiting: readonly ShardStatus[], reason: string): string {
  const shards = rangesOf(waiting.map(({ shard }) => shard));
  return `note: shard ${shards} may wait for ever (${reason}): \`bench slurm cancel\` ends that`;
}

export function cancelText({ jobs, runFolder, shards }: CancelOutput): string[] {
  if (jobs.length === 0) return ['no job of this run is in the queue'];
  return [
    `${count(shards.length, 'shard')} cancelled: ${jobs.length === 1 ? 'job' : 'jobs'} ${jobs.map(({ jobId }) => jobId).join(', ')}`,
    `to collect what is done: bench slurm collect ${shellQuote(runFolder)}; to continue: bench slurm resume ${shellQuote(runFolder)}`,
  ];
}

const jobSchema = z.strictObject({
  jobId: z.string(),
  cluster: z.string().nullable().describe('Null for the cluster of this machine'),
});

export const submitted = output('bench run --executor slurm --json without --wait, and bench slurm resume --json', {
  sweepId: id,
  runFolder: z.string(),
  cells: countSchema,
  shards: countSchema.describe('Number of shards of the whole run'),
  estimateS: z.number().describe('Estimate for the longest shard'),
  jobs: z.array(jobSchema.extend({ shards: z.array(countSchema) })).describe('Job arrays, in their order'),
  collector: jobSchema.nullable().describe('The job that collects, with --collect-job'),
  left: z.array(countSchema).describe('Shards that Slurm has not accepted yet'),
  problem: z.string().nullable(),
});

export const collected = output('bench slurm collect --json, and every --wait --json', {
  sweepId: id,
  runFolder: z.string(),
  isFinished: z.boolean().describe('True if the store has every shard'),
  stored: countSchema.describe('Runs that were not in the store before'),
  alreadyStored: countSchema,
  incompleteCells: countSchema.describe('Cells with fewer measured runs than planned'),
  refused: z
    .array(z.strictObject({ shard: countSchema, problem: z.string() }))
    .describe('Runs left out because they do not name this sweep'),
  counts: z.record(z.enum(SHARD_STATES), countSchema),
  shards: z.array(shardStatusSchema),
});

export const cancelled = output('bench slurm cancel --json', {
  sweepId: id,
  runFolder: z.string(),
  jobs: z.array(jobSchema),
  shards: z.array(countSchema).describe('Shards without a result that were submitted'),
});

export type SubmitOutput = OutputOf<typeof submitted>;
export type CollectOutput = OutputOf<typeof collected>;
export type CancelOutput = OutputOf<typeof cancelled>;
