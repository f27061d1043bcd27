import { Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import {
  failOnOption,
  filterOption,
  metricOption,
  notEmpty,
  positiveInteger,
  positivePercent,
  collected,
  PYTHON_HELP,
} from '../../cli/options.ts';
import { NAMED_EXPERIMENTS } from './request.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('[matrix]')
    .option('--env <setting>', 'what B sets: NAME=VALUE; may stand more than once. A is left as it is', collected)
    .addOption(
      new Option('--experiment <name>', 'a known one, with its variable, threshold and marks').choices(
        NAMED_EXPERIMENTS.map(({ name }) => name),
      ),
    )
    .option('--significant <percent>', 'B has to be better by more than this (default: 10%)', positivePercent)
    .option('--repeats <n>', 'runs of each side of each cell', positiveInteger, 5)
    .addOption(metricOption())
    .addOption(filterOption())
    .option('--name <text>', 'of the experiment (default: what B sets)')
    .option('--upper-bound', 'B is idealized: mark it, so that it is never a baseline or the best')
    .option('--invalid-output', 'what B computes is wrong: mark it in the same way')
    .option('--read <sweep>', 'show a stored one, by its name or the id of its sweep')
    .option('--seed <n>', 'of the order of runs (default: a new one for each sweep)', positiveInteger)
    .option('--trtexec <path>', 'the trtexec to use (default: $TRTEXEC, else from PATH)')
    .option('--python <path>', PYTHON_HELP)
    .option('--gpus <gpu>', 'the one to measure on: a number or a UUID')
    .option('--commit <rev>', 'the commit that is measured (default: HEAD)', notEmpty)
    .option('--no-telemetry', 'no nvidia-smi beside the runs: no clocks, power, temperatures')
    .addOption(failOnOption());

export type AbOptions = OptionsOf<typeof define>;

export const abCommand = defineCommand({
  name: 'ab',
  summary: 'an A/B experiment: every cell as it is and with a variable set, turn by turn, against a threshold',
  examples: [
    'bench ab matrices/moe.yaml --experiment perfect-router   # is the routing a bottleneck?',
    "bench ab matrices/nightly.yaml --env CUDA_MODULE_LOADING=EAGER --filter 'model=vit*'",
    'bench ab matrices/moe.yaml --env NAME=1 --significant 5% --repeats 10 --upper-bound',
    'bench ab perfect-router     # the newest of this name once more; an id of a sweep does, too',
  ],
  outputs: { ab: async () => (await import('../experiment/index.ts')).ab },
  define,
  run: async ([what], options, io) => (await import('./ab.ts')).ab(what, options, io),
});
