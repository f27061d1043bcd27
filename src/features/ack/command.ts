import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('<finding>')
    .option('--reason <text>', 'why the finding is acceptable')
    .option('--until <when>', 'a date, or a commit that will be measured (default: permanently)')
    .option('--undo', 'withdraw the acceptance');

export type AckOptions = OptionsOf<typeof define>;

export const ackCommand = defineCommand({
  name: 'ack',
  summary: 'accept a finding, so that the gate ignores it (until a date or commit)',
  examples: [
    'bench ack 1a2b3c4d --reason "new default precision" --until 2026-12-31',
    'bench ack 1a2b3c4d --reason "fixed by !412" --until v1.3   # until that commit is measured',
    'bench ack 1a2b3c4d --undo',
  ],
  outputs: { ack: async () => (await import('./ack.ts')).ackOutput },
  define,
  run: async ([finding], options, io) => (await import('./ack.ts')).ack(finding, options, io),
});
