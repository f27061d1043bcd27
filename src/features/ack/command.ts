import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { branchOption, notEmpty, noteText } from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('[findings...]')
    .option('--all', 'every finding that is not acknowledged yet')
    .option('--reason <text>', 'reason for the acknowledgement', noteText)
    .option('--until <when>', 'a date, or a commit that is measured later (default: permanently)')
    .option('--owner <name>', 'owner of the findings', noteText)
    .option('--matrix <name>', 'with --all: only findings of this matrix', notEmpty)
    .addOption(branchOption('with --all: only findings of this branch (default: all)'))
    .option('--undo', 'take an acknowledgement back');

export type AckOptions = OptionsOf<typeof define>;

export const ackCommand = defineCommand({
  name: 'ack',
  summary: 'acknowledge findings: their level becomes the reference (until a date or commit)',
  examples: [
    'bench ack 1a2b3c4d --reason "new default precision" --until 2026-12-31',
    'bench ack 1a2b3c4d 5e6f7a8b --reason "fixed on fast-norm" --until fast-norm   # until that commit is measured',
    'bench ack fp8 --reason "new scales" --owner team-quantization       # all findings of the group fp8',
    'bench ack --all --reason "new driver"',
    'bench ack 1a2b3c4d --undo',
  ],
  outputs: { ack: async () => (await import('./ack.ts')).ackOutput },
  define,
  run: async ([findings], options, io) => (await import('./ack.ts')).ack(findings, options, io),
});
