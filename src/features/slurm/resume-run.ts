import { resolve } from 'node:path';

import { type Io, printResult } from '../../cli/io.ts';
import { EnvironmentLackingError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { rangesOf } from '../../tools/slurm/sbatch-args.ts';
import { isOver, isSettling, type ShardStatus } from '../../tools/slurm/states.ts';
import { SlurmClient } from '../../tools/slurm/slurm-client.ts';
import { collect } from './collect.ts';
import type { ResumeOptions } from './command.ts';
import { RunFolder } from './run-folder.ts';
import { ShardWatch } from './shard-status.ts';
import { settingsOf, submitOutput, submitShards } from './submit.ts';
import { submitText } from './text.ts';

/** Resubmits shards that are neither done nor at work. */
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
