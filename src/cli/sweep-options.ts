import { type Command, Option, type OptionValues } from '@commander-js/extra-typings';

import type { CommonOptions } from './define-command.ts';
import { collected, duration, filterOption, positiveInteger } from './options.ts';

/** What decides a plan, whether it is shown or carried out. */
export function planOptions<Arguments extends unknown[]>(planning: Command<Arguments, CommonOptions>) {
  return planning
    .addOption(filterOption())
    .option('--repeats <n>', 'runs of each cell', positiveInteger)
    .option('--builds <n>', 'builds of each engine, each run so often', positiveInteger)
    .option('--seed <n>', 'of the order of runs (default: a new one for each sweep)', positiveInteger)
    .option('--profile', 'a profile run of each cell as well')
    .option('--untrusted', 'refuse a matrix that would start or load something of its own choice')
    .option('--trtexec <path>', 'the trtexec to use (default: $TRTEXEC, else from PATH)')
    .option('--replay <set>', 'answer from recordings: the name of a set, or a folder');
}

/** How the executor hands work to Slurm. */
export function settingOptions<A extends unknown[], O extends OptionValues>(submitting: Command<A, O>) {
  return submitting
    .option('--slurm-profile <file>', 'a YAML file with what stands under slurm: of a matrix')
    .option('--slurm <key=value>', 'one of these settings, such as partition=gpu; may stand more than once', collected);
}

function every<Flags extends string>(flags: Flags, about: string, seconds: number, shown: string) {
  return new Option(flags, about).argParser(duration).default(seconds, shown);
}

/** How Slurm is asked. */
export function watchOptions<A extends unknown[], O extends OptionValues>(watching: Command<A, O>) {
  return watching
    .addOption(every('--poll <time>', 'Slurm is asked this often, at last', 30, '30s'))
    .addOption(every('--max-pending <time>', 'tell of shards that wait longer', 86_400, '24h'))
    .addOption(every('--lost-after <time>', 'a shard that nobody knows is lost after this', 120, '2m'))
    .addOption(every('--late-files <time>', 'wait so long for the files of jobs that have ended', 75, '75s'));
}
