import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { UsageError } from '../../errors.ts';
import {
  branchOption,
  filterOption,
  flagOf,
  parser,
  positiveInteger,
  positiveNumber,
  positivePercent,
  PYTHON_HELP,
} from '../../cli/options.ts';
import { SEARCH_AXES } from '../../judge/latency-search.ts';
import { readQuantity } from '../../text/units.ts';

/** 50 % is a guess, and no number of runs gives 100 %. */
function surePercent(text: string): number {
  const percent = positivePercent(text);
  if (percent > 50 && percent < 100) return percent;
  throw new InvalidArgumentError('must be a percentage above 50 and below 100, such as 95.');
}

const define = (command: PlainCommand) =>
  command
    .option(
      '--at <refs...>',
      'only these sweeps, commits or baselines together (default: the cells of the newest matrix)',
    )
    .addOption(filterOption())
    .addOption(branchOption())
    .option('--no-chart', 'only the table')
    .option('--scaling', 'also show items/s by batch: what a larger batch gains or loses')
    .optionsGroup('Within limits:')
    .option('--max-latency <time>', 'the most throughput within this latency, such as 5ms or 800us', milliseconds)
    .addOption(
      new Option('--metric <name>', 'what --max-latency limits: the p99, or the median latency')
        .choices(['p99', 'latency'])
        .default('p99'),
    )
    .option('--min-sqnr <db>', 'with --max-latency: only variants with at least this accuracy', positiveNumber)
    .optionsGroup('Search for the limit:')
    .option('--search [matrix]', 'bisect for the highest batch that holds --max-latency (default: the newest matrix)')
    .addOption(new Option('--over <axis>', 'what to search (default: batch, else streams)').choices(SEARCH_AXES))
    .option('--sure <percent>', 'how sure to be that a batch is within the limit (default: 95)', surePercent)
    .option('--max-runs <n>', 'stop after this many runs', positiveInteger)
    .option('--max-repeats <n>', 'runs of a cell, at most (default: as the matrix says, at least 3)', positiveInteger)
    .option('--dry-run', 'show what would be searched, run nothing')
    .option('--trtexec <path>', 'the trtexec to use (default: $TRTEXEC, else from PATH)')
    .option('--replay <set>', 'answer from recordings: the name of a set, or a folder')
    .option('--python <path>', PYTHON_HELP)
    .option('--gpus <gpu>', 'the GPU to measure on: a number or a UUID')
    .option('--untrusted', 'refuse a matrix that names programs or libraries to start or load');

export type ChooseOptions = OptionsOf<typeof define>;

const OF_SEARCH = /^(?:dryRun|gpus|maxRepeats|maxRuns|over|python|replay|sure|trtexec|untrusted)$/;

export const chooseCommand = defineCommand({
  name: 'choose',
  summary: 'compare speed, accuracy and memory of all precisions and batches',
  examples: [
    'bench choose                            # the newest value of each cell',
    'bench choose --at fp16-night fp8-night  # these sweeps together',
    'bench choose --scaling                  # and what a larger batch gains or loses a sample',
    'bench choose --max-latency 20           # the most throughput with a p99 latency of at most 20 ms',
    'bench choose --max-latency 5 --search   # measure: the highest batch that holds 5 ms, in few runs',
    'bench choose --max-latency 5 --search matrices/nightly.yaml --over streams --dry-run',
    'bench choose --max-latency 20 && deploy # exit code 4: a model has nothing within the limits',
  ],
  outputs: {
    pareto: async () => (await import('./output.ts')).pareto,
    slo: async () => (await import('./output.ts')).slo,
    search: async () => (await import('../run/index.ts')).search,
  },
  define,
  run: async (_, options, io) => {
    const { maxLatency, minSqnr, search } = options;
    if (search !== undefined) return (await import('./search.ts')).search({ ...options, search }, io);
    const alone = Object.keys(options).find((name) => OF_SEARCH.test(name));
    if (alone !== undefined) throw new UsageError(`${flagOf(alone)} needs --search`);
    if (maxLatency !== undefined) return (await import('./slo.ts')).slo({ ...options, maxLatency }, io);
    if (minSqnr !== undefined) throw new UsageError('--min-sqnr needs --max-latency: add --max-latency MS');
    return (await import('./pareto.ts')).pareto(options, io);
  },
});

const MS_UNITS = new Map([
  ['', 1],
  ['us', 0.001],
  ['ms', 1],
  ['s', 1000],
]);

/** `5`, `5ms`, `800us`, `0.1s`: in milliseconds. */
const milliseconds = parser(
  (text) => readQuantity(text, MS_UNITS) || null,
  'must be a time above 0, such as 5, 5ms, 800us or 0.1s; without a unit it is in ms.',
);
