import { Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import * as shared from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('[matrix]')
    .option('--env <setting>', 'variable of side B: NAME=VALUE; repeatable. Side A runs without it', shared.collected)
    .addOption(
      new Option('--experiment <name>', 'a predefined experiment with its variable, threshold and marks').choices([
        'perfect-router',
        'telemetry',
      ] as const),
    )
    .option(
      '--significant <percent>',
      'threshold: B must be better by more than this (default: 10%)',
      shared.positivePercent,
    )
    .option('--repeats <n>', 'runs of each side of each cell', shared.positiveInteger, 5)
    .addOption(shared.metricOption())
    .addOption(shared.matrixFilterOption())
    .option('--name <text>', 'name of the experiment (default: the variable of side B)')
    .option('--upper-bound', 'B is an idealized upper bound: never a baseline or the best')
    .option('--invalid-output', 'B computes wrong outputs: never a baseline or the best')
    .option('--read <sweep>', 'show a stored experiment, by its name or sweep id')
    .option('--seed <n>', 'seed of the order of runs (default: a new one for each sweep)', shared.positiveInteger)
    .option('--trtexec <path>', 'the trtexec to use (default: $TRTEXEC, else from PATH)')
    .option('--python <path>', shared.PYTHON_HELP)
    .option('--gpus <gpu>', 'the GPU to measure on: a number or a UUID')
    .option('--commit <rev>', 'the commit that is measured (default: HEAD)', shared.notEmpty)
    .option('--no-telemetry', 'do not run nvidia-smi during the runs: no clocks, power, temperatures')
    .addOption(shared.failOnOption());

export type AbOptions = OptionsOf<typeof define>;

export const abCommand = defineCommand({
  name: 'ab',
  summary: 'measure every cell with and without a variable, interleaved',
  examples: [
    'bench ab matrices/moe.yaml --experiment perfect-router   # is the routing a bottleneck?',
    "bench ab matrices/nightly.yaml --env CUDA_MODULE_LOADING=EAGER --filter 'model=vit*'",
    'bench ab matrices/moe.yaml --env NAME=1 --significant 5% --repeats 10 --upper-bound',
    'bench ab matrices/nightly.yaml --experiment telemetry    # what does watching the GPU cost?',
    'bench ab perfect-router     # show the newest experiment of this name again',
  ],
  outputs: { ab: async () => (await import('../experiment/index.ts')).ab },
  define,
  run: async ([what], options, io) => (await import('./ab.ts')).ab(what, options, io),
});
