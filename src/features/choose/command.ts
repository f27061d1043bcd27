import { Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { branchOption, filterOption, positiveNumber } from '../../cli/options.ts';

const atOption = (command: PlainCommand) =>
  command
    .option('--at <refs...>', 'these sweeps, commits or baselines together (default: latest)')
    .addOption(filterOption())
    .addOption(branchOption());

const paretoOptions = (command: PlainCommand) =>
  atOption(command)
    .option('--no-chart', 'only the table')
    .option('--scaling', 'items/s by batch as well: what a larger batch gains or loses');

export type ParetoOptions = OptionsOf<typeof paretoOptions>;

export const paretoCommand = defineCommand({
  name: 'pareto',
  summary: 'speed, accuracy and memory of every precision and batch beside each other',
  examples: [
    'bench pareto                            # of the newest sweep',
    "bench pareto --filter 'model=vit* & cudaGraph=on'",
    'bench pareto --at fp16-night fp8-night  # these sweeps together',
    'bench pareto --scaling                  # and what a larger batch gains or loses a sample',
  ],
  define: paretoOptions,
  run: async (_, options, io) => (await import('./pareto.ts')).pareto(options, io),
});

const sloOptions = (command: PlainCommand) =>
  atOption(command)
    .requiredOption('--max-latency <ms>', 'the limit, in milliseconds', positiveNumber)
    .addOption(new Option('--metric <which>', 'the latency it is about').choices(['p99', 'median']).default('p99'))
    .option('--min-sqnr <db>', 'only variants whose accuracy was checked and is no worse', positiveNumber);

export type SloOptions = OptionsOf<typeof sloOptions>;

export const sloCommand = defineCommand({
  name: 'slo',
  summary: 'the most throughput under a limit of the latency',
  examples: [
    'bench slo --max-latency 20                     # latency p99 of at most 20 ms',
    'bench slo --max-latency 5 --metric median --min-sqnr 25',
    'bench slo --max-latency 20 && deploy           # exit code 4: a model has nothing within the limits',
  ],
  define: sloOptions,
  run: async (_, options, io) => (await import('./slo-command.ts')).slo(options, io),
});
