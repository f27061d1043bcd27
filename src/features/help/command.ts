import { defineCommand } from '../../cli/define-command.ts';

export const helpCommand = defineCommand({
  name: 'help',
  summary: 'show help on a command, a metric or a term',
  examples: [
    'bench help                # all commands and topics',
    'bench help compare',
    'bench help p99            # what a metric means, and its caveats',
    'bench help exit-codes',
  ],
  isPlain: true,
  define: (command) => command.arguments('[topic...]'),
  run: async ([words], { json }, io, program) =>
    (await import('./help.ts')).showHelp(words, json === true, program, io),
});
