import { Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';

const FORMATS = ['chrome-trace'] as const;

const define = (command: PlainCommand) =>
  command
    .arguments('<what>')
    .addOption(new Option('--format <name>', 'format of the file').choices(FORMATS).default(FORMATS[0]))
    .option('--output <file>', 'the file to write (default: standard output)');

export type ExportOptions = OptionsOf<typeof define>;

export const exportCommand = defineCommand({
  name: 'export',
  summary: 'export the queries and layers of a run for trace viewers',
  examples: ['bench export 1a2b3c4d --output run.json   # chrome://tracing, ui.perfetto.dev'],
  outputs: { export: async () => (await import('./trace.ts')).exported },
  define,
  run: async ([what], options, io) => (await import('./trace.ts')).exportRun(what, options, io),
});
