import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { positiveInteger } from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('<paths...>')
    .option('--min-queries <n>', 'minimum number of timed queries for a valid run (default: 30)', positiveInteger);

export type ParseOptions = OptionsOf<typeof define>;

export const parseCommand = defineCommand({
  name: 'parse',
  summary: 'parse a trtexec log or a run folder, and store nothing',
  examples: [
    'bench parse trtexec.log',
    'bench parse results/ --json | jq .runs[].throughputQps',
    'trtexec --loadEngine=m.plan 2>&1 | bench parse -',
  ],
  notes: 'Use parse to see what bench reads in a file; bench import stores it for comparison.',
  outputs: { parse: async () => (await import('./parse.ts')).parseOutput },
  define,
  run: async ([paths], options, io) => (await import('./parse.ts')).parse(paths, options, io),
});
