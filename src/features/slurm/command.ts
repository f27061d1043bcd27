import { defineCommand, defineGroup, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import type { Executor } from '../run/index.ts';
import { failOnOption, wholeNumber, settingOptions, watchOptions } from '../../cli/options.ts';

const collectOptions = (command: PlainCommand) =>
  watchOptions(command.arguments('<run>'))
    .option('--wait', 'follow the jobs until all have ended; Ctrl-C does not cancel them')
    .addOption(failOnOption());

export type CollectOptions = OptionsOf<typeof collectOptions>;

const collectCommand = defineCommand({
  name: 'collect',
  summary: 'import results of finished Slurm jobs (safe to repeat)',
  examples: [
    'bench slurm collect bench-slurm/1a2b3c4d',
    'bench slurm collect bench-slurm/1a2b3c4d --wait && bench check',
    'bench slurm collect bench-slurm/1a2b3c4d --json | jq .counts',
  ],
  outputs: { collect: async () => (await import('./text.ts')).collected },
  define: collectOptions,
  run: async ([path], options, io) => (await import('./collect.ts')).collect(path, options, io),
});

const resumeOptions = (command: PlainCommand) =>
  settingOptions(watchOptions(command.arguments('<run>')))
    .option('--wait', 'follow the jobs, then collect')
    .addOption(failOnOption());

export type ResumeOptions = OptionsOf<typeof resumeOptions>;

/** Settings of Slurm beyond those of the matrix. */
export type SettingsOptions = Pick<ResumeOptions, 'slurmProfile' | 'slurm'>;

const resumeCommand = defineCommand({
  name: 'resume',
  summary: 'resubmit shards that have no result and are not running',
  examples: [
    'bench slurm resume bench-slurm/1a2b3c4d',
    'bench slurm resume bench-slurm/1a2b3c4d --slurm time=60 --wait',
  ],
  define: resumeOptions,
  run: async ([path], options, io) => (await import('./run-on-slurm.ts')).resumeRun(path, options, io),
});

const cancelOptions = (command: PlainCommand) => command.arguments('<run>');

const cancelCommand = defineCommand({
  name: 'cancel',
  summary: 'cancel the Slurm jobs of a run; finished shards are kept',
  examples: ['bench slurm cancel bench-slurm/1a2b3c4d'],
  outputs: { cancel: async () => (await import('./text.ts')).cancelled },
  define: cancelOptions,
  run: async ([path], options, io) => (await import('./run-on-slurm.ts')).cancel(path, options, io),
});

const workerOptions = (command: PlainCommand) =>
  command
    .requiredOption('--run <folder>', 'the folder of the run')
    .requiredOption('--shard-offset <n>', 'shard of task 0 of this array', wholeNumber);

export type WorkerOptions = OptionsOf<typeof workerOptions>;

const workerCommand = defineCommand({
  name: 'worker',
  summary: 'measure one shard, inside a Slurm job',
  examples: [],
  isHidden: true,
  isPlain: true,
  define: workerOptions,
  run: async (_, options, io) => (await import('./worker.ts')).worker(options, io),
});

export const slurmCommands = defineGroup({
  name: 'slurm',
  summary: 'follow, resume and cancel sweeps of bench run --executor slurm',
  examples: [
    'bench slurm collect bench-slurm/1a2b3c4d --wait && bench check',
    'bench slurm resume bench-slurm/1a2b3c4d',
    'bench slurm cancel bench-slurm/1a2b3c4d',
  ],
  commands: [collectCommand, resumeCommand, cancelCommand, workerCommand],
});

/** `bench run --executor slurm`. */
export const slurmExecutor: Executor = {
  submitted: async () => (await import('./text.ts')).submitted,
  submit: async (...args) => (await import('./run-on-slurm.ts')).runOnSlurm(...args),
};
