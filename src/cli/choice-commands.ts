import { type Command, Option } from 'commander';

import { command, filterOption, positiveNumber, run } from './options.ts';

/** What helps to choose a precision and a batch. */
export function addChoiceCommands(program: Command): void {
  atOption(
    command(
      program,
      'pareto',
      'speed, accuracy and memory of every precision and batch beside each other',
      [
        'bench pareto                            # of the newest sweep',
        "bench pareto --filter 'model=vit* & cudaGraph=on'",
        'bench pareto --at fp16-night fp8-night  # these sweeps together',
      ],
    ),
  )
    .option('--no-chart', 'only the table')
    .action(async (options) => {
      await run(options, async (io) => (await import('./analysis-bundle.ts')).pareto(options, io));
    });

  atOption(
    command(program, 'slo', 'the most throughput under a limit of the latency', [
      'bench slo --max-latency 20                     # latency p99 of at most 20 ms',
      'bench slo --max-latency 5 --metric median --min-sqnr 25',
      'bench slo --max-latency 20 && deploy           # exit code 4: a model has nothing within the limits',
    ]),
  )
    .requiredOption('--max-latency <ms>', 'the limit, in milliseconds', positiveNumber)
    .addOption(
      new Option('--metric <which>', 'the latency it is about')
        .choices(['p99', 'median'])
        .default('p99'),
    )
    .option(
      '--min-sqnr <db>',
      'only variants whose accuracy was checked and is no worse',
      positiveNumber,
    )
    .action(async (options) => {
      await run(options, async (io) => (await import('./analysis-bundle.ts')).slo(options, io));
    });
}

function atOption(choosing: Command): Command {
  return choosing
    .option('--at <refs...>', 'these sweeps, commits or baselines together (default: latest)')
    .addOption(filterOption());
}
