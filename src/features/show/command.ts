import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { UsageError } from '../../errors.ts';
import { metricOption, positivePercent, precisionShareOption } from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('<what>')
    .option('--samples', 'print the times of every query of a run as CSV')
    .option('--shows <percent>', 'change to detect: show the repeats that it needs (default: 1)', positivePercent)
    .option('--map [axes]', 'show a sweep as a map of two axes (default: precision,batch)')
    .addOption(metricOption('metric of the map, or of the chart of a run'))
    .addOption(precisionShareOption())
    .option('--next', 'show what limits a run (or the fastest run of a cell) and which profiler to use next')
    .option('--attach <files...>', 'attach these files to a run')
    .option('--name <name>', 'with --attach: store the file under this name');

export type ShowOptions = OptionsOf<typeof define>;

export const showCommand = defineCommand({
  name: 'show',
  summary: 'show a stored run, sweep, cell or finding',
  examples: [
    'bench show latest                # the newest sweep',
    'bench show 1a2b3c4d              # the start of an id, or of a key',
    'bench show 6f1c248c              # a finding of bench check',
    'bench show latest --map streams,batch --metric throughput',
    'bench show 1a2b3c4d --samples > queries.csv',
    'bench show 1a2b3c4d --shows 2    # and the number of runs that detect a change of 2 %',
    'bench show 1a2b3c4d --next       # what limits it, and which profiler to use next',
    'bench show 1a2b3c4d --attach notes.txt --name why-it-was-slow.txt',
  ],
  notes:
    'Use show for one stored thing in detail; bench ls lists what is stored. Attached files are listed by bench show RUN, checked by bench db verify, and dropped by bench db prune --attachments-older-than.',
  outputs: {
    'show-cell': async () => (await import('./output.ts')).shownCell,
    'show-run': async () => (await import('./output.ts')).shownRun,
    'show-finding': async () => (await import('../check/index.ts')).shownFinding,
    explain: async () => (await import('./output.ts')).explainOutput,
    attach: async () => (await import('./output.ts')).attachOutput,
  },
  define,
  run: async ([what], options, io) => {
    if (options.attach !== undefined) return (await import('./show.ts')).attach(what, options.attach, options, io);
    if (options.name !== undefined) throw new UsageError('--name needs --attach: add --attach FILE');
    if (options.next === true) return (await import('./next-steps.ts')).explainRun(what, options, io);
    return (await import('./show.ts')).show(what, options, io);
  },
});
