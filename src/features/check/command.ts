import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import * as shared from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('[matrices...]')
    .addOption(shared.metricOption())
    .addOption(shared.filterOption())
    .addOption(shared.branchOption())
    .option('--all', 'show every finding in full, and every cell')
    .option('--as-of <sweep>', 'judge an earlier sweep: a date, a sweep or a commit')
    .option('--matrix <name>', 'only sweeps of this matrix')
    .option('--against <baseline>', 'the reference is this baseline (default: the last accepted level)')
    .addOption(shared.minChangeOption())
    .addOption(shared.failOnOption())
    .option(
      '--notify <program>',
      'program to start with the JSON for new findings; a JSON list if it has arguments (default: as the matrix says)',
      shared.notifyCommand,
    )
    .option('--untrusted', 'start no program that a matrix names');

export type CheckOptions = OptionsOf<typeof define>;

export const checkCommand = defineCommand({
  name: 'check',
  summary: 'the gate: judge the newest sweep of every series',
  examples: [
    'bench check                       # exit code 1 when something got slower',
    'bench check nightly.yaml          # only sweeps of this matrix',
    'bench check --as-of 2026-03-04    # as it would have been reported then; stores nothing',
  ],
  notes: 'Use check for its exit code; bench report --night writes the same verdicts to files.',
  outputs: { check: async () => (await import('./output.ts')).checked },
  define,
  run: async ([matrices], options, io) => (await import('./check.ts')).check(matrices, options, io),
});
