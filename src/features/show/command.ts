import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { metricOption, precisionShareOption } from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('<what>')
    .option('--samples', 'the times of every query of a run, as CSV')
    .option('--map', 'of a sweep: its values as a map of precision and batch')
    .addOption(metricOption('what the map shows'))
    .addOption(precisionShareOption());

export type ShowOptions = OptionsOf<typeof define>;

export const showCommand = defineCommand({
  name: 'show',
  summary: 'what is stored of a run, a sweep or a cell',
  examples: [
    'bench show latest                # the newest sweep',
    'bench show 1a2b3c4d              # the start of an id, or of a key',
    'bench show latest --map          # its times by precision and batch',
    'bench show latest --map --metric throughputQps',
    'bench show 1a2b3c4d --samples > queries.csv',
  ],
  define,
  run: async ([what], options, io) => (await import('./show.ts')).show(what, options, io),
});
