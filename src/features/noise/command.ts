import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { NEWEST_SWEEPS } from '../../judge/history/noise.ts';
import { branchOption, filterOption, metricOption, positiveInteger } from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('[cells...]')
    .addOption(metricOption())
    .addOption(filterOption())
    .addOption(branchOption())
    .option('--last <n>', 'use the newest N sweeps', positiveInteger, NEWEST_SWEEPS);

export type NoiseOptions = OptionsOf<typeof define>;

export const noiseCommand = defineCommand({
  name: 'noise',
  summary: 'show the noise of each cell, and the change that 1, 3, 5 and 10 runs detect',
  examples: [
    'bench noise                        # the noisiest cells first',
    "bench noise 'model=vit* & batch=8' --metric throughput",
  ],
  outputs: { noise: async () => (await import('./noise.ts')).noiseOutput },
  define,
  run: async ([names], options, io) => (await import('./noise.ts')).noise(names, options, io),
});
