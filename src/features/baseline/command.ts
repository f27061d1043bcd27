import { defineCommand, defineGroup, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';

const setOptions = (command: PlainCommand) => command.arguments('<name> [ref]').option('--reason <text>', 'why');

export type BaselineOptions = OptionsOf<typeof setOptions>;

const setCommand = defineCommand({
  name: 'set',
  summary: 'pin a name to a sweep (default: the newest)',
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
  summary: 'the sweep that a name is pinned to',
  examples: ['bench baseline show v1.2'],
  define: (command) => command.arguments('<name>'),
  run: async ([name], options, io) => (await import('../show/index.ts')).show(`baseline:${name}`, options, io),
});

const rmCommand = defineCommand({
  name: 'rm',
  summary: 'forget a name; its sweep is kept',
  examples: ['bench baseline rm v1.2'],
  define: (command) => command.arguments('<name>'),
  run: async ([name], options, io) => (await import('./baseline.ts')).removeNamed(name, options, io),
});

export const baselineCommands = defineGroup({
  name: 'baseline',
  summary: 'named sweeps to compare with: bench compare baseline:NAME',
  examples: [
    'bench baseline set v1.2',
    'bench baseline set release HEAD~3 --reason "as shipped"',
    'bench ls baselines',
  ],
  commands: [setCommand, showCommand, rmCommand],
});
