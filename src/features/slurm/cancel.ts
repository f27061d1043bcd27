import { resolve } from 'node:path';

import { EnvironmentLackingError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { jsonText } from '../../text/printable.ts';
import { cancelJson, cancelText } from './text.ts';
import { readJournal, submittedJobs, taskOf, writeJournal } from './journal.ts';
import { isUnreachable, lastWords } from '../../tools/slurm/replies.ts';
import { isLiving } from '../../tools/slurm/states.ts';
import { bundledShards } from './bundle.ts';
import { RunFolder } from './run-folder.ts';
import { SlurmClient } from '../../tools/slurm/slurm-client.ts';
import { type Io, printLines } from '../../cli/io.ts';

export interface CancelOptions {
  readonly json?: boolean;
}

/** `bench cancel RUN`: ends what of a run is in the queue or at work. What is done stays. */
export async function cancel(path: string, options: CancelOptions, io: Io): Promise<ExitCode> {
  const folder = new RunFolder(resolve(io.cwd, path));
  const plan = await folder.readPlan();
  const client = new SlurmClient(io.env, io.signal);
  const journal = readJournal(folder);
  const done = await bundledShards(folder.bundles);
  const submitted = submittedJobs(journal);
  const arrays = submitted.filter((job) => job.shards.some((shard) => !done.has(shard)));
  const collectors = journal.filter((entry) => entry.kind === 'collector');
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
    writeJournal(folder, { kind: 'cancelled', at: io.now().toISOString(), shards });
  }
  const report = { sweepId: plan.sweep.sweepId, runFolder: folder.path, jobs: shards.length === 0 ? [] : jobs, shards };
  if (options.json === true) io.out(`${jsonText(cancelJson(report))}\n`);
  else printLines(io, cancelText(report));
  return EXIT_CODES.fine;
}

function noAnswer(problem: string): EnvironmentLackingError {
  return new EnvironmentLackingError(`Slurm gives no answer, nothing was cancelled: ${problem}; try again later`);
}
