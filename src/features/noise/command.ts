import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { branchOption, filterOption, metricOption, positiveInteger } from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('[cells...]')
    .addOption(metricOption())
    .addOption(filterOption())
    .addOption(branchOption())
    .option('--last <n>', 'use the newest N sweeps', positiveInteger, 60)
    .option('--want <percent>', 'the change that should be detectable', Number, 2);

export type NoiseOptions = OptionsOf<typeof define>;

export const noiseCommand = defineCommand({
  name: 'noise',
  summary: 'noise floor, false alarms and detectable effects of this machine',
  examples: [
    'bench noise                        # measured false alarms and detectable effects',
    'bench noise --want 1               # repeats and GPU minutes needed to detect 1 %',
    "bench noise 'model=vit* & batch=8' --metric throughput",
  ],
  outputs: { noise: async () => (await import('./output.ts')).noise },
  define,
  run: async ([names], options, io) => (await import('./noise.ts')).noise(names, options, io),
});
