import { rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { EnvironmentLackingError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { jsonText, printable } from '../../text/printable.ts';
import { submitJson, submitText } from './text.ts';
import { faultyBundles } from './take-bundle.ts';
import { toJob } from './journal.ts';
import { rangesOf } from '../../tools/slurm/arrays.ts';
import { RunFolder } from './run-folder.ts';
import { shardsToResume } from './shards-to-resume.ts';
import { SlurmClient } from '../../tools/slurm/slurm-client.ts';
import { submitShards } from './submit.ts';
import { type Io, printLines } from '../../cli/io.ts';
import { collect, type CollectOptions, watchOf } from './collect-command.ts';
import { settingsOf, type SettingsOptions, submitContext } from './settings.ts';

export interface ResumeRunOptions extends CollectOptions, SettingsOptions {}

/** `bench resume RUN`: shards that have no bundle and are not at work go to Slurm once more, into the same folder. */
export async function resumeRun(path: string, options: ResumeRunOptions, io: Io): Promise<ExitCode> {
  const folder = new RunFolder(resolve(io.cwd, path));
  const plan = await folder.readPlan();
  const settings = settingsOf(plan.settings, options, io);
  const refused = new Set<number>();
  for (const { shard, problem } of await faultyBundles(folder, plan)) {
    refused.add(shard);
    io.err(`note: shard ${shard}: its bundle ${printable(problem)}; it is measured again\n`);
    const away = join(folder.temporary, `refused-${shard}-${io.now().getTime()}`);
    await rename(folder.bundle(shard), away);
  }
  const statuses = await watchOf(folder, plan, options, io).look();
  if (statuses.some(({ reason, state }) => state === 'running' && /no answer/.test(reason))) {
    throw new EnvironmentLackingError(
      'Slurm gives no answer: which shards are at work is not known; try again when `scontrol ping` says UP',
    );
  }
  const { again, settling } = shardsToResume(statuses, refused);
  if (settling.length > 0) {
    io.err(`note: shard ${rangesOf(settling)} may still turn up and is left alone for now (--lost-after)\n`);
  }
  if (again.length === 0) {
    io.err('nothing to resume: every shard is done or at work\n');
    return options.wait === true ? collect(path, options, io) : EXIT_CODES.fine;
  }
  const client = new SlurmClient(io.env, io.signal);
  const submission = await submitShards(folder, plan, settings, again, submitContext(client, io));
  if (options.wait === true) return collect(path, options, io);
  const wanted = new Set(again);
  const report = {
    sweepId: plan.sweep.sweepId,
    runFolder: folder.path,
    cells: plan.shards.filter(({ index }) => wanted.has(index)).reduce((sum, { cellKeys }) => sum + cellKeys.length, 0),
    shards: plan.shards,
    jobs: submission.jobs.map(toJob),
    collector: null,
    left: submission.left,
    problem: submission.problem,
  };
  if (options.json === true) io.out(`${jsonText(submitJson(report))}\n`);
  else printLines(io, submitText(report));
  return submission.left.length === 0 ? EXIT_CODES.fine : EXIT_CODES.incomplete;
}
