import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { metricOption, positiveInteger } from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('[good] [bad] [command...]')
    .option('--matrix <file>', 'the matrix; in the repository, of each commit (default: of the sweep of BAD or GOOD)')
    .option('--cell <cell>', 'the cell: key, label, model or expression')
    .option('--factors <file>', 'a table of factors other than commits, each with a good and a bad value')
    .addOption(metricOption())
    .option('--trtexec <path>', 'the trtexec to use; inside the repository, that of each commit')
    .option('--replay <set>', 'answer from recordings: the name of a set, or a folder')
    .option('--max-runs <n>', 'runs of one commit, at most', positiveInteger, 30)
    .option('--no-telemetry', 'do not run nvidia-smi during the runs')
    .option('--resume', 'continue the newest interrupted search')
    .option('--restart', 'measure decided candidates again');

export type BisectOptions = OptionsOf<typeof define>;

export const bisectCommand = defineCommand({
  name: 'bisect',
  summary: 'find the commit (or factor) that made a cell slower',
  examples: [
    'bench bisect v1.2 HEAD --matrix nightly.yaml --cell "model=vit & batch=8" -- make -j8 engine',
    'bench bisect --factors factors.yaml --matrix nightly.yaml --cell 1a2b3c4d',
    'bench bisect --resume',
  ],
  outputs: { bisect: async () => (await import('./report.ts')).bisectOutput },
  define,
  run: async (words, options, io) => (await import('./bisect.ts')).bisect(words, options, io),
});
