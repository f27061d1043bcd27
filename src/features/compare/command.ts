import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { branchOption, failOnOption, filterOption, metricOption } from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('[base] [head]')
    .addOption(metricOption())
    .addOption(filterOption())
    .addOption(branchOption())
    .addOption(failOnOption())
    .option('--map', 'the changes as a map of precision and batch')
    .option('--across-provenance', 'compare recorded with measured results all the same')
    .option('--across-gpu', 'compare results of different GPU models all the same')
    .option('--across-tensorrt', 'compare results of different TensorRT majors all the same')
    .option('--across-methods', 'compare medians of different harnesses all the same')
    .option('--across-clocks', 'compare results of locked and other clocks all the same');

export type CompareOptions = OptionsOf<typeof define>;

export const compareCommand = defineCommand({
  name: 'compare',
  summary: 'what got slower between two commits, sweeps or baselines',
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
