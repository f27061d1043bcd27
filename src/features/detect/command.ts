import { Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('<file>')
    .option('--ab', 'the file has two sides of each cell instead of histories')
    .option('--sweeps', 'the file has the runs of each sweep: print new changes, sweep by sweep')
    .addOption(new Option('--better <which>', 'the better direction').choices(['lower', 'higher']).default('lower'));

export type DetectOptions = OptionsOf<typeof define>;

export const detectCommand = defineCommand({
  name: 'detect',
  summary: 'run the change-point detector on any series and print JSON lines',
  examples: [
    'bench detect nights.csv                # date,value: each column of numbers is a history',
    'bench detect histories.jsonl           # {"id", "values": [1.02, null, 1.01, ...]}',
    'bench detect --ab cells.jsonl          # {"id", "a": [runs], "b": [runs]}: two sides',
    'bench detect --sweeps sweeps.jsonl     # {"matrix", "id", "precision", "sweeps": [[runs], null, ...]}',
  ],
  define,
  run: async ([file], options, io) => (await import('./detect.ts')).detect(file, options, io),
});
