import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { ownMetricNamed } from '../../records/metric.ts';
import { UsageError } from '../../errors.ts';
import { branchOption, filterOption, positiveNumber } from '../../cli/options.ts';

type LimitedLatency = 'p99' | 'median';

function limitedLatency(name: string): LimitedLatency {
  const metric = ownMetricNamed(name);
  if (metric === 'p99Ms') return 'p99';
  if (metric === 'latencyMs' || name === 'median') return 'median';
  throw new InvalidArgumentError('--max-latency limits p99, or latency (the median).');
}

const define = (command: PlainCommand) =>
  command
    .option('--at <refs...>', 'these sweeps, commits or baselines together (default: latest)')
    .addOption(filterOption())
    .addOption(branchOption())
    .option('--no-chart', 'only the table')
    .option('--scaling', 'items/s by batch as well: what a larger batch gains or loses')
    .optionsGroup('Within limits:')
    .option('--max-latency <ms>', 'the most throughput within this latency, in milliseconds', positiveNumber)
    .addOption(
      new Option('--metric <name>', 'what --max-latency limits: the p99, or the median latency')
        .choices(['p99', 'latency'])
        .argParser(limitedLatency)
        .default<LimitedLatency>('p99', 'p99'),
    )
    .option(
      '--min-sqnr <db>',
      'with --max-latency: only variants whose accuracy was checked and is no worse',
      positiveNumber,
    );

export type ChooseOptions = OptionsOf<typeof define>;

export const chooseCommand = defineCommand({
  name: 'choose',
  summary: 'compare speed, accuracy and memory of all precisions and batches',
  examples: [
    'bench choose                            # of the newest sweep',
    "bench choose --filter 'model=vit* & cudaGraph=on'",
    'bench choose --at fp16-night fp8-night  # these sweeps together',
    'bench choose --scaling                  # and what a larger batch gains or loses a sample',
    'bench choose --max-latency 20           # the most throughput with a p99 latency of at most 20 ms',
    'bench choose --max-latency 5 --metric latency --min-sqnr 25',
    'bench choose --max-latency 20 && deploy # exit code 4: a model has nothing within the limits',
  ],
  outputs: {
    pareto: async () => (await import('./output.ts')).pareto,
    slo: async () => (await import('./output.ts')).slo,
  },
  define,
  run: async (_, options, io) => {
    const { maxLatency, minSqnr } = options;
    if (maxLatency !== undefined) return (await import('./slo.ts')).slo({ ...options, maxLatency }, io);
    if (minSqnr !== undefined) throw new UsageError('--min-sqnr goes with --max-latency: add --max-latency MS');
    return (await import('./pareto.ts')).pareto(options, io);
  },
});
