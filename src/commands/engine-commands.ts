import type { Command } from 'commander';

import type { Execute } from '../cli/execute.ts';
import { byteSize, command } from '../cli/options.ts';

const bundle = () => import('./measuring-bundle.ts');

/** The cache of built engines. */
export function addEngineCommands(program: Command, run: Execute): void {
  const engines = program
    .command('engines')
    .description('the built engines that are kept beside the store')
    .addHelpText(
      'after',
      '\nExamples:\n  $ bench engines list\n  $ bench engines pin 1a2b3c4d\n  $ bench engines gc --max-size 20GB --dry-run',
    );

  command(engines, 'list', 'what is kept, those used last first', [
    'bench engines list',
    'bench engines list --json | jq .engines[].bytes',
  ]).action(async (options) => {
    await run(options, async (io) => (await bundle()).listEngines(options, io));
  });

  command(engines, 'verify [keys...]', 'reads every byte: are they those that were built?', [
    'bench engines verify            # exit code 4 when one is not',
    'bench engines verify 1a2b3c4d',
  ]).action(async (keys: string[], options) => {
    await run(options, async (io) => (await bundle()).verifyEngines(keys, options, io));
  });

  command(engines, 'pin <keys...>', 'gc leaves them alone', ['bench engines pin 1a2b3c4d']).action(
    async (keys: string[], options) => {
      await run(options, async (io) => (await bundle()).pinEngines(keys, true, options, io));
    },
  );

  command(engines, 'unpin <keys...>', 'gc may remove them again', ['bench engines unpin 1a2b3c4d']).action(
    async (keys: string[], options) => {
      await run(options, async (io) => (await bundle()).pinEngines(keys, false, options, io));
    },
  );

  command(engines, 'rm <keys...>', 'remove them, and let go of what was frozen to them', [
    'bench engines rm 1a2b3c4d       # all builds of this key',
    'bench engines rm 1a2b3c4d-2     # the second build only',
  ])
    .option('--force', 'pinned ones as well')
    .action(async (keys: string[], options) => {
      await run(options, async (io) => (await bundle()).removeEngines(keys, options, io));
    });

  command(engines, 'gc', 'remove those used longest ago until the others fit', [
    'bench engines gc --max-size 20GB --dry-run',
    'bench engines gc --max-size 500MB',
  ])
    .requiredOption('--max-size <size>', 'such as 20GB or 512MiB', byteSize)
    .option('--dry-run', 'only say what would be removed')
    .action(async (options) => {
      await run(options, async (io) => (await bundle()).collectEngines(options, io));
    });
}
