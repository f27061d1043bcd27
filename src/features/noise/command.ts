import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { branchOption, filterOption, metricOption, positiveInteger } from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('[cells...]')
    .addOption(metricOption())
    .addOption(filterOption())
    .addOption(branchOption())
    .option('--last <n>', 'so many sweeps, the newest', positiveInteger, 60)
    .option('--want <percent>', 'a change that should be seen', Number, 2);

export type NoiseOptions = OptionsOf<typeof define>;

export const noiseCommand = defineCommand({
  name: 'noise',
  summary: 'how far this machine and this matrix can be trusted',
  examples: [
    'bench noise                        # measured false alarms, and the smallest change seen',
    'bench noise --want 1               # repeats that a change of 1 % takes, and GPU minutes',
    "bench noise 'model=vit* & batch=8' --metric throughputQps",
  ],
  outputs: { noise: async () => (await import('./output.ts')).noise },
  define,
  run: async ([names], options, io) => (await import('./noise.ts')).noise(names, options, io),
});
