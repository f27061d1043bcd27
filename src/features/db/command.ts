import { defineCommand, defineGroup, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { age, filterOption, metricOption, positiveInteger } from '../../cli/options.ts';

const infoOptions = (command: PlainCommand) => command;

export type InfoOptions = OptionsOf<typeof infoOptions>;

const infoCommand = defineCommand({
  name: 'info',
  summary: 'what is in the store, how large it is, and what could go',
  examples: ['bench db info', 'bench db info --json'],
  outputs: { 'db-info': async () => (await import('./output.ts')).infoOutput },
  define: infoOptions,
  run: async (_, options, io) => (await import('./info.ts')).info(options, io),
});

const verifyOptions = (command: PlainCommand) => command.option('--quick', 'nothing is hashed or decoded');

export type VerifyOptions = OptionsOf<typeof verifyOptions>;

const verifyCommand = defineCommand({
  name: 'verify',
  summary: 'looks for damage: in the file, in its rows, in artefacts and engines',
  examples: ['bench db verify', 'bench db verify --quick    # without reading artefacts and engines'],
  notes: 'Exit code 4 when something is damaged or missing.',
  outputs: { 'db-verify': async () => (await import('./output.ts')).verifyOutput },
  define: verifyOptions,
  run: async (_, options, io) => (await import('./verify.ts')).verify(options, io),
});

const backupOptions = (command: PlainCommand) =>
  command.arguments('[file]').option('--force', 'in place of a file that is there');

export type BackupOptions = OptionsOf<typeof backupOptions>;

const backupCommand = defineCommand({
  name: 'backup',
  summary: 'copies the store while others may write to it',
  examples: ['bench db backup', 'bench db backup /backups/bench.sqlite --force'],
  notes: 'To restore it, copy it to where the store was.',
  outputs: { 'db-backup': async () => (await import('./output.ts')).backupOutput },
  define: backupOptions,
  run: async ([file], options, io) => (await import('./backup.ts')).backup(file, options, io),
});

const mergeOptions = (command: PlainCommand) =>
  command.arguments('<others...>').option('--no-artefacts', 'only the stores, not the artefacts beside them');

export type MergeOptions = OptionsOf<typeof mergeOptions>;

const mergeCommand = defineCommand({
  name: 'merge',
  summary: 'brings what other stores have into this one',
  examples: ['bench db merge ../gpu2/bench.sqlite', 'bench db merge a.sqlite b.sqlite --db all.sqlite'],
  notes: 'Doing it again adds what is new. Exit code 4 when rows differ under the same id; those that are here stay.',
  outputs: { 'db-merge': async () => (await import('./output.ts')).mergeOutput },
  define: mergeOptions,
  run: async ([others], options, io) => (await import('./merge.ts')).mergeStores(others, options, io),
});

const pruneOptions = (command: PlainCommand) =>
  command
    .option('--keep <age>', 'what is younger stays: 36h, 90d, 12w, 1y', age)
    .option('--keep-sweeps <n>', 'the newest n sweeps of each matrix and branch stay', positiveInteger)
    .option('--layers', 'layer profiles go as well')
    .option(
      '--attachments-older-than <age>',
      'files that were attached to runs before that go, with whatever else',
      age,
    )
    .option('--vacuum', 'give the space back to the disk, however little it is')
    .option('--dry-run', 'only show what would go');

export type PruneOptions = OptionsOf<typeof pruneOptions>;

const pruneCommand = defineCommand({
  name: 'prune',
  summary: 'takes samples and artefacts of old sweeps away; summaries stay',
  examples: [
    'bench db prune --keep 90d --dry-run',
    'bench db prune --keep 90d --keep-sweeps 30',
    'bench db prune --attachments-older-than 30d     # captures and other attached files',
  ],
  notes:
    'The newest two sweeps of each matrix and branch stay in any case, and all that a baseline or an open finding needs.',
  outputs: { 'db-prune': async () => (await import('./output.ts')).pruneOutput },
  define: pruneOptions,
  run: async (_, options, io) => (await import('./prune.ts')).prune(options, io),
});

const rejudgeOptions = (command: PlainCommand) =>
  command
    .addOption(metricOption())
    .addOption(filterOption())
    .option('--last <n>', 'so many nights', positiveInteger, 1000);

export type RejudgeOptions = OptionsOf<typeof rejudgeOptions>;

const rejudgeCommand = defineCommand({
  name: 'rejudge',
  summary: "what today's rules would have told on the stored nights, beside what was told",
  examples: ['bench db rejudge', "bench db rejudge --filter 'precision=fp8' --json"],
  outputs: { rejudge: async () => (await import('./output.ts')).rejudgeOutput },
  define: rejudgeOptions,
  run: async (_, options, io) => (await import('./rejudge.ts')).rejudge(options, io),
});

export const dbCommands = defineGroup({
  name: 'db',
  summary: 'care of the store',
  examples: [
    'bench db info',
    'bench db verify',
    'bench db backup',
    'bench db merge ../other-machine/bench.sqlite',
    'bench db prune --keep 90d --dry-run',
  ],
  commands: [infoCommand, verifyCommand, backupCommand, mergeCommand, pruneCommand, rejudgeCommand],
});
