import { defineCommand, defineGroup, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';

const setOptions = (command: PlainCommand) =>
  command
    .arguments('<name> [ref]')
    .option('--reason <text>', 'reason, shown with the baseline')
    .option('--force', 'move an existing baseline, or accept findings without bench ack');

export type BaselineOptions = OptionsOf<typeof setOptions>;

const setCommand = defineCommand({
  name: 'set',
  summary: 'name a sweep as a baseline (default: the newest)',
  examples: ['bench baseline set v1.2'],
  define: setOptions,
  run: async ([name, ref], options, io) => (await import('./baseline.ts')).setNamed(name, ref, options, io),
});

export const baselinesCommand = defineCommand({
  name: 'baselines',
  summary: 'list the baselines',
  examples: ['bench ls baselines'],
  outputs: { baselines: async () => (await import('./baseline.ts')).baselinesOutput },
  define: (command) => command,
  run: async (_, options, io) => (await import('./baseline.ts')).listAll(options, io),
});

const showCommand = defineCommand({
  name: 'show',
  summary: 'show the sweep of a baseline',
  examples: ['bench baseline show v1.2'],
  define: (command) => command.arguments('<name>'),
  run: async ([name], options, io) => (await import('../show/index.ts')).show(`baseline:${name}`, options, io),
});

const rmCommand = defineCommand({
  name: 'rm',
  summary: 'delete a baseline; its sweep is kept',
  examples: ['bench baseline rm v1.2'],
  define: (command) => command.arguments('<name>'),
  run: async ([name], options, io) => (await import('./baseline.ts')).removeNamed(name, options, io),
});

export const baselineCommands = defineGroup({
  name: 'baseline',
  summary: 'manage baselines: named sweeps to compare with',
  examples: [
    'bench baseline set v1.2',
    'bench baseline set release HEAD~3 --reason "as shipped"',
    'bench ls baselines',
  ],
  commands: [setCommand, showCommand, rmCommand],
});
