import { resolve } from 'node:path';

import { type Io, printResult } from '../../cli/io.ts';
import { EnvironmentLackingError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { collect } from './collect.ts';
import type { ResumeOptions } from './command.ts';
import { readJobs, recordJob, submittedArrays, taskOf } from './jobs.ts';
import type { CancelOutput } from './output.ts';
import { RunFolder, finishedShards } from './run-folder.ts';
import { ShardWatch } from './shard-status.ts';
import { settingsOf, submitOutput, submitShards } from './submit.ts';
import { submitText, cancelText } from './text.ts';
import { rangesOf } from '../../tools/slurm/sbatch-args.ts';
import { SlurmClient, isUnreachable, lastWords } from '../../tools/slurm/slurm-client.ts';
import { isOver, isSettling, type ShardStatus, isLiving } from '../../tools/slurm/states.ts';

/** Resubmits shards that are neither finished nor running. */
export async function resumeRun(path: string, options: ResumeOptions, io: Io): Promise<ExitCode> {
  const plan = await new RunFolder(resolve(io.cwd, path)).readPlan();
  const settings = settingsOf(plan.settings, options, io);
  const statuses = await new ShardWatch(plan, options, io).look();
  if (statuses.some(({ reason, state }) => state === 'running' && /no answer/.test(reason))) {
    throw new EnvironmentLackingError(
      'Slurm gives no answer: which shards are at work is not known; try again when `scontrol ping` says UP',
    );
  }
  const settling = shardsOf(statuses.filter(isSettling));
  const again = shardsOf(
    statuses.filter((status) => status.state === 'planned' || (isOver(status) && status.state !== 'done')),
  );
  if (settling.length > 0) {
    io.err(`note: shard ${rangesOf(settling)} may still turn up and is left alone for now (--lost-after)\n`);
  }
  if (again.length === 0) {
    io.err('nothing to resume: every shard is done or at work\n');
    return options.wait === true ? collect(path, options, io) : EXIT_CODES.fine;
  }
  const client = new SlurmClient(io.env, io.signal);
  const submission = await submitShards(plan, settings, again, client, io);
  if (options.wait === true) return collect(path, options, io);
  const report = submitOutput(plan, submission, null, again);
  printResult(io, options, report, () => submitText(report, plan.shards));
  return submission.left.length === 0 ? EXIT_CODES.fine : EXIT_CODES.incomplete;
}

function shardsOf(statuses: readonly ShardStatus[]): number[] {
  return statuses.map(({ shard }) => shard);
}

/** Cancels queued and running tasks. Finished shards stay. */
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
