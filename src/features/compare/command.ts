import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { branchOption, failOnOption, filterOption, metricOption, minChangeOption } from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('[base] [head]')
    .addOption(metricOption())
    .addOption(filterOption())
    .addOption(branchOption())
    .addOption(failOnOption())
    .addOption(minChangeOption())
    .option('--map', 'show the changes as a map of precision and batch')
    .option('--across-provenance', 'compare even if one side is recorded and the other measured')
    .option('--across-gpu', 'compare even if the GPU models differ')
    .option('--across-tensorrt', 'compare even if the TensorRT major versions differ')
    .option('--across-methods', 'compare medians even if the harnesses differ')
    .option('--across-clocks', 'compare even if only one side had locked clocks');

export type CompareOptions = OptionsOf<typeof define>;

export const compareCommand = defineCommand({
  name: 'compare',
  summary: 'show what got slower between two commits, sweeps or baselines',
  examples: [
    'bench compare                      # the last two sweeps of this branch',
    'bench compare HEAD~1               # this commit against the one before',
    'bench compare main..HEAD --metric throughputQps',
    'bench compare baseline:v1.2 latest --fail-on regression,unclear',
    'bench compare HEAD~1 --map         # changes by precision and batch',
  ],
  outputs: { compare: async () => (await import('./output.ts')).comparison },
  define,
  run: async ([base, head], options, io) => (await import('./compare.ts')).compare(base, head, options, io),
});
