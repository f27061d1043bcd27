import { resolve } from 'node:path';

import { EnvironmentLackingError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { cancelText } from './text.ts';
import type { CancelOutput } from './output.ts';
import { readJobs, recordJob, submittedArrays, taskOf } from './jobs.ts';
import { isUnreachable, lastWords, SlurmClient } from '../../tools/slurm/slurm-client.ts';
import { isLiving } from '../../tools/slurm/states.ts';
import { finishedShards, RunFolder } from './run-folder.ts';
import { type Io, printResult } from '../../cli/io.ts';

/** Cancels queued and running tasks; finished shards stay. */
export async function cancel(path: string, options: { readonly json?: true }, io: Io): Promise<ExitCode> {
  const plan = await new RunFolder(resolve(io.cwd, path)).readPlan();
  const { folder } = plan;
  const client = new SlurmClient(io.env, io.signal);
  const entries = readJobs(folder);
  const done = new Set(await finishedShards(plan));
  const submitted = submittedArrays(entries);
  const arrays = submitted.filter((job) => job.shards.some((shard) => !done.has(shard)));
  const collectors = entries.filter((entry) => entry.kind === 'collector');
  const jobs = [...arrays, ...collectors].map(({ jobId, cluster }) => ({ jobId, cluster }));
  const living = new Set<string>();
  for (const [cluster, members] of Map.groupBy(jobs, (job) => job.cluster)) {
    const ids = members.map(({ jobId }) => jobId);
    const queue = await client.queue(ids, cluster);
    if (queue.kind === 'unreachable') throw noAnswer(queue.problem);
    for (const { state, task } of queue.rows) if (isLiving(state)) living.add(task);
    const reply = await client.cancel(ids, cluster);
    if (isUnreachable(reply.stderr)) throw noAnswer(lastWords(reply.stderr));
  }
  const shards = plan.shards
    .map(({ index }) => index)
    .filter((shard) => !done.has(shard) && living.has(taskOf(submitted, shard)?.task ?? ''));
  if (shards.length > 0) {
    recordJob(folder, { kind: 'cancelled', at: io.now().toISOString(), shards });
  }
  const { sweepId } = plan.sweep;
  const ended = shards.length === 0 ? [] : jobs;
  const output: CancelOutput = { schemaVersion: 1, sweepId, runFolder: folder.path, jobs: ended, shards };
  return printResult(io, options, output, cancelText);
}

function noAnswer(problem: string): EnvironmentLackingError {
  return new EnvironmentLackingError(`Slurm gives no answer, nothing was cancelled: ${problem}; try again later`);
}
