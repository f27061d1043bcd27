import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { branchOption, failOnOption, filterOption, metricOption } from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  command
    .addOption(metricOption())
    .addOption(filterOption())
    .addOption(branchOption())
    .option('--as-of <night>', 'judge an earlier sweep: a date, a sweep or a commit')
    .addOption(failOnOption());

export type CheckOptions = OptionsOf<typeof define>;

export const checkCommand = defineCommand({
  name: 'check',
  summary: 'the nightly gate: judge the newest sweep by its history',
  examples: [
    'bench check                       # exit code 1 when something got slower',
    'bench check --as-of 2026-03-04    # as it would have been reported that night; stores nothing',
  ],
  outputs: { check: async () => (await import('./output.ts')).checkedSweep },
  define,
  run: async (_, options, io) => (await import('./check.ts')).check(options, io),
});
