import { defineCommand, defineGroup, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { byteSize } from '../../cli/options.ts';

export const cachedEnginesCommand = defineCommand({
  name: 'engines',
  summary: 'list the cached engines, most recently used first',
  examples: ['bench ls engines', 'bench ls engines --json | jq .engines[].bytes'],
  outputs: { engines: async () => (await import('./text.ts')).enginesOutput },
  define: (command) => command,
  run: async (_, options, io) => (await import('./engines.ts')).showEngines([], options, io),
});

const verifyCommand = defineCommand({
  name: 'verify',
  summary: 'verify that cached engines are unchanged',
  examples: ['bench engines verify            # exit code 4 when one is not', 'bench engines verify 1a2b3c4d'],
  define: (command) => command.arguments('[keys...]'),
  run: async ([keys], options, io) => (await import('./engines.ts')).showEngines(keys, options, io, true),
});

const pinOptions = (command: PlainCommand) =>
  command
    .arguments('<keys...>')
    .option('--timing-cache <file>', 'also write the timing cache that the build of this engine ended with');

export type PinOptions = OptionsOf<typeof pinOptions>;

const pinCommand = defineCommand({
  name: 'pin',
  summary: 'protect engines from gc',
  examples: [
    'bench engines pin 1a2b3c4d',
    'bench engines pin 1a2b3c4d-2 --timing-cache vit.cache   # what this build chose, for build.timingCache',
  ],
  define: pinOptions,
  run: async ([keys], options, io) => (await import('./engines.ts')).pinEngines(keys, true, options, io),
});

const unpinCommand = defineCommand({
  name: 'unpin',
  summary: 'let gc remove engines again',
  examples: ['bench engines unpin 1a2b3c4d'],
  define: (command) => command.arguments('<keys...>'),
  run: async ([keys], options, io) => (await import('./engines.ts')).pinEngines(keys, false, options, io),
});

const rmOptions = (command: PlainCommand) =>
  command.arguments('<keys...>').option('--force', 'also remove pinned engines');

export type RemoveOptions = OptionsOf<typeof rmOptions>;

const rmCommand = defineCommand({
  name: 'rm',
  summary: 'remove engines and unfreeze their cells',
  examples: [
    'bench engines rm 1a2b3c4d       # all builds of this key',
    'bench engines rm 1a2b3c4d-2     # the second build only',
  ],
  define: rmOptions,
  run: async ([keys], options, io) => (await import('./engines.ts')).removeEngines(keys, options, io),
});

const gcOptions = (command: PlainCommand) =>
  command
    .requiredOption('--max-size <size>', 'size limit, such as 20GB or 512MiB', byteSize)
    .option(
      '--keep-last-good <size>',
      'keep engines to compare newer ones with, up to this size (default: 10GB, or as the matrix says)',
      byteSize,
    )
    .option('--dry-run', 'only show what would be removed');

export type GcOptions = OptionsOf<typeof gcOptions>;

const gcCommand = defineCommand({
  name: 'gc',
  summary: 'remove least recently used engines until the rest fit',
  examples: ['bench engines gc --max-size 20GB --dry-run', 'bench engines gc --max-size 500MB'],
  outputs: { 'engines-gc': async () => (await import('./text.ts')).enginesGcOutput },
  define: gcOptions,
  run: async (_, options, io) => (await import('./engines.ts')).collectEngines(options, io),
});

export const enginesCommands = defineGroup({
  name: 'engines',
  summary: 'manage the cache of built engines',
  examples: ['bench ls engines', 'bench engines pin 1a2b3c4d', 'bench engines gc --max-size 20GB --dry-run'],
  commands: [verifyCommand, pinCommand, unpinCommand, rmCommand, gcCommand],
});
