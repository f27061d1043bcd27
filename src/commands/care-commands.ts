import type { Command } from 'commander';

import type { Execute } from '../cli/execute.ts';
import { age, command, filterOption, metricOption, positiveInteger } from '../cli/options.ts';

/** `bench db`: care of the store. */
export function addCareCommands(program: Command, run: Execute): void {
  const db = program
    .command('db')
    .description('care of the store')
    .addHelpText(
      'after',
      '\nExamples:\n  $ bench db info\n  $ bench db verify\n  $ bench db backup\n  $ bench db merge ../other-machine/bench.sqlite\n  $ bench db prune --keep 90d --dry-run',
    );

  command(db, 'info', 'what is in the store, how large it is, and what could go', [
    'bench db info',
    'bench db info --json',
  ]).action(async (options) => {
    await run(options, async (io) => (await import('./care-bundle.ts')).info(options, io));
  });

  command(db, 'verify', 'looks for damage: in the file, in its rows, in artefacts and engines', [
    'bench db verify',
    'bench db verify --quick    # without reading artefacts and engines',
  ])
    .option('--quick', 'nothing is hashed or decoded')
    .addHelpText('after', '\nExit code 4 when something is damaged or missing.')
    .action(async (options) => {
      await run(options, async (io) => (await import('./care-bundle.ts')).verify(options, io));
    });

  command(db, 'backup [file]', 'copies the store while others may write to it', [
    'bench db backup',
    'bench db backup /backups/bench.sqlite --force',
  ])
    .option('--force', 'in place of a file that is there')
    .addHelpText('after', '\nTo restore it, copy it to where the store was.')
    .action(async (file: string | undefined, options) => {
      await run(options, async (io) => (await import('./care-bundle.ts')).backup(file, options, io));
    });

  command(db, 'merge <others...>', 'brings what other stores have into this one', [
    'bench db merge ../gpu2/bench.sqlite',
    'bench db merge a.sqlite b.sqlite --db all.sqlite',
  ])
    .option('--no-artefacts', 'only the stores, not the artefacts beside them')
    .addHelpText(
      'after',
      '\nDoing it again adds what is new. Exit code 4 when rows differ under the same id; those that are here stay.',
    )
    .action(async (others: string[], options) => {
      await run(options, async (io) => (await import('./care-bundle.ts')).mergeStores(others, options, io));
    });

  command(db, 'prune', 'takes samples and artefacts of old sweeps away; summaries stay', [
    'bench db prune --keep 90d --dry-run',
    'bench db prune --keep 90d --keep-sweeps 30',
    'bench db prune --attachments-older-than 30d     # captures and other attached files',
  ])
    .option('--keep <age>', 'what is younger stays: 36h, 90d, 12w, 1y', age)
    .option('--keep-sweeps <n>', 'the newest n sweeps of each matrix and branch stay', positiveInteger)
    .option('--layers', 'layer profiles go as well')
    .option(
      '--attachments-older-than <age>',
      'files that were attached to runs before that go, with whatever else',
      age,
    )
    .option('--vacuum', 'give the space back to the disk, however little it is')
    .option('--dry-run', 'only show what would go')
    .addHelpText(
      'after',
      '\nThe newest two sweeps of each matrix and branch stay in any case, and all that a baseline or an open finding needs.',
    )
    .action(async (options) => {
      await run(options, async (io) => (await import('./care-bundle.ts')).prune(options, io));
    });

  command(db, 'rejudge', "what today's rules would have told on the stored nights, beside what was told", [
    'bench db rejudge',
    "bench db rejudge --filter 'precision=fp8' --json",
  ])
    .addOption(metricOption())
    .addOption(filterOption())
    .option('--last <n>', 'so many nights', positiveInteger, 1000)
    .action(async (options) => {
      await run(options, async (io) => (await import('./analysis-bundle.ts')).rejudge(options, io));
    });
}
