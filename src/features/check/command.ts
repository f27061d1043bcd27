import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { branchOption, failOnOption, filterOption, metricOption, minChangeOption } from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  command
    .addOption(metricOption())
    .addOption(filterOption())
    .addOption(branchOption())
    .option('--as-of <sweep>', 'judge an earlier sweep: a date, a sweep or a commit')
    .option('--matrix <name>', 'only sweeps of this matrix')
    .addOption(minChangeOption())
    .addOption(failOnOption());

export type CheckOptions = OptionsOf<typeof define>;

export const checkCommand = defineCommand({
  name: 'check',
  summary: 'the gate: judge the newest sweep of every series',
  examples: [
    'bench check                       # exit code 1 when something got slower',
    'bench check --as-of 2026-03-04    # as it would have been reported then; stores nothing',
  ],
  outputs: { check: async () => (await import('./output.ts')).checked },
  define,
  run: async (_, options, io) => (await import('./check.ts')).check(options, io),
});
