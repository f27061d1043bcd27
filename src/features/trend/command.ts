import { Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { filterOption, metricOption, notEmpty, numberParser, positiveInteger } from '../../cli/options.ts';
import { TREND_UNITS } from '../../judge/trend.ts';
import { PROVENANCES } from '../../records/sweep.ts';

/** Names of metrics that may explain a change. */
const STRIPS = ['temperature', 'sm-clock', 'power'] as const;

const chartHeight = numberParser((n) => Number.isInteger(n) && n >= 3, 'must be a whole number, 3 or more.');

const define = (command: PlainCommand) =>
  command
    .arguments('[cells...]')
    .addOption(metricOption())
    .addOption(
      new Option('--by <unit>', 'step of the time axis (default: by the number of sweeps)').choices(TREND_UNITS),
    )
    .option('--last <n>', 'show the newest N steps', positiveInteger, 90)
    .option('--height <n>', 'lines of a chart', chartHeight, 6)
    .addOption(filterOption())
    .option('--branch <name>', 'only sweeps of this branch (default: all)', notEmpty)
    .addOption(
      new Option('--provenance <which>', 'only results of this kind (default: that of the newest)').choices(
        PROVENANCES,
      ),
    )
    .addOption(new Option('--with <metric>', 'a second strip below each chart, on the same axis').choices(STRIPS))
    .option('--together', 'one line for each cell, all on one scale');

export type TrendOptions = OptionsOf<typeof define>;

export const trendCommand = defineCommand({
  name: 'trend',
  summary: 'chart values of cells over time, commits, sweeps or runs',
  examples: [
    'bench trend',
    'bench trend vit_small --metric throughput',
    'bench trend vit_small --with temperature',
    "bench trend 'model=vit* & batch=8' --together --by commit",
  ],
  outputs: { trend: async () => (await import('./text.ts')).trend },
  define,
  run: async ([names], options, io) => (await import('./trend.ts')).trend(names, options, io),
});
