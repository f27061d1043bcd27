import { type Command, InvalidArgumentError, Option } from 'commander';

import type { Execute } from '../cli/execute.ts';
import { command, duration, failOnOption } from '../cli/options.ts';

/** What goes on after `bench run --executor slurm`, and what runs on the nodes. */
export function addSlurmCommands(program: Command, run: Execute): void {
  const collect = command(
    program,
    'collect <run>',
    'take what Slurm jobs have measured into the store; as often as one likes',
    [
      'bench collect bench-slurm/1a2b3c4d',
      'bench collect bench-slurm/1a2b3c4d --wait && bench check',
      'bench collect bench-slurm/1a2b3c4d --json | jq .counts',
    ],
  );
  watchOptions(collect)
    .option('--wait', 'follow the jobs until all have ended; Ctrl-C leaves them alone')
    .addOption(failOnOption())
    .action(async (path: string, options) => {
      await run(options, async (io) => (await import('./slurm-bundle.ts')).collect(path, options, io));
    });

  const resume = command(
    program,
    'resume <run>',
    'send the shards that have no result and are not at work to Slurm once more',
    ['bench resume bench-slurm/1a2b3c4d', 'bench resume bench-slurm/1a2b3c4d --slurm time=60 --wait'],
  );
  settingOptions(watchOptions(resume))
    .option('--wait', 'follow the jobs, then collect')
    .addOption(failOnOption())
    .action(async (path: string, options) => {
      await run(options, async (io) => (await import('./slurm-bundle.ts')).resumeRun(path, options, io));
    });

  command(program, 'cancel <run>', 'end the Slurm jobs of a run; what is done stays', [
    'bench cancel bench-slurm/1a2b3c4d',
  ]).action(async (path: string, options) => {
    await run(options, async (io) => (await import('./slurm-bundle.ts')).cancel(path, options, io));
  });

  program
    .command('worker', { hidden: true })
    .description('measure one shard, inside a Slurm job')
    .requiredOption('--run <folder>', 'the folder of the run')
    .requiredOption('--shard-offset <n>', 'shard of task 0 of this array', wholeNumber)
    .action(async (options) => {
      await run(options, async (io) => (await import('./slurm-bundle.ts')).worker(options, io));
    });
}

/** How the executor hands work to Slurm. */
export function settingOptions(submitting: Command): Command {
  return submitting
    .option('--slurm-profile <file>', 'a YAML file with what stands under slurm: of a matrix')
    .option(
      '--slurm <key=value>',
      'one of these settings, such as partition=gpu; may stand more than once',
      (text: string, before: string[] = []) => [...before, text],
    );
}

function every(flags: string, about: string, seconds: number, shown: string): Option {
  return new Option(flags, about).argParser(duration).default(seconds, shown);
}

/** How Slurm is asked. */
export function watchOptions(watching: Command): Command {
  return watching
    .addOption(every('--poll <time>', 'Slurm is asked this often, at last', 30, '30s'))
    .addOption(every('--max-pending <time>', 'tell of shards that wait longer', 86_400, '24h'))
    .addOption(every('--lost-after <time>', 'a shard that nobody knows is lost after this', 120, '2m'))
    .addOption(every('--late-files <time>', 'wait so long for the files of jobs that have ended', 75, '75s'));
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('must be a whole number.');
  return Number(text);
}
