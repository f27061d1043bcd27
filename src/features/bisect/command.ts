import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { metricOption, positiveInteger } from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('[good] [bad] [command...]')
    .option('--matrix <file>', 'the matrix; one of the repository is taken as each commit has it')
    .option('--cell <cell>', 'its one cell: key, label, model or expression')
    .option('--factors <file>', 'a table of other things than commits, each with good and bad')
    .addOption(metricOption())
    .option('--trtexec <path>', 'the trtexec to use; one of the repository as each commit has it')
    .option('--replay <set>', 'answer from recordings: the name of a set, or a folder')
    .option('--max-runs <n>', 'runs of one commit, at most', positiveInteger, 30)
    .option('--no-telemetry', 'no nvidia-smi beside the runs')
    .option('--resume', 'go on with the newest one that was interrupted')
    .option('--restart', 'measure again what was decided earlier');

export type BisectOptions = OptionsOf<typeof define>;

export const bisectCommand = defineCommand({
  name: 'bisect',
  summary: 'the commit, or the factor, from which on a cell is slower: as many runs as the noise needs',
  examples: [
    'bench bisect v1.2 HEAD --matrix nightly.yaml --cell "model=vit & batch=8" -- make -j8 engine',
    'bench bisect --factors factors.yaml --matrix nightly.yaml --cell 1a2b3c4d',
    'bench bisect --resume',
  ],
  outputs: { bisect: async () => (await import('./output.ts')).bisectOutput },
  define,
  run: async ([good, bad, words], options, io) => (await import('./bisect.ts')).bisect(good, bad, words, options, io),
});
