import { defineCommand, defineGroup, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { age, filterOption, metricOption, positiveInteger } from '../../cli/options.ts';

const infoCommand = defineCommand({
  name: 'info',
  summary: 'show the contents and size of the store, and what could be pruned',
  examples: ['bench db info', 'bench db info --json'],
  outputs: { 'db-info': async () => (await import('./output.ts')).infoOutput },
  define: (command) => command,
  run: async (_, options, io) => (await import('./inspect.ts')).info(options, io),
});

const verifyOptions = (command: PlainCommand) =>
  command
    .option('--quick', 'do not hash anything')
    .option(
      '--rebuild [sweeps...]',
      'compare with a temporary store made from the artefacts of all sweeps, or of these',
    );

export type VerifyOptions = OptionsOf<typeof verifyOptions>;

const verifyCommand = defineCommand({
  name: 'verify',
  summary: 'check the store, artefacts and engines for damage',
  examples: [
    'bench db verify',
    'bench db verify --quick    # without reading artefacts and engines',
    'bench db verify --rebuild latest',
  ],
  notes:
    'Exit code 4 if something is damaged or missing. Rows without artefacts are not compared. Differences in sweeps of another version of bench may come from its parser and are not damage.',
  outputs: { 'db-verify': async () => (await import('./output.ts')).verifyOutput },
  define: verifyOptions,
  run: async (_, options, io) => (await import('./inspect.ts')).verify(options, io),
});

const backupOptions = (command: PlainCommand) =>
  command.arguments('[file]').option('--force', 'overwrite an existing file');

export type BackupOptions = OptionsOf<typeof backupOptions>;

const backupCommand = defineCommand({
  name: 'backup',
  summary: 'copy the store; others may write to it meanwhile',
  examples: ['bench db backup', 'bench db backup /backups/bench.sqlite --force'],
  notes: 'To restore it, copy it to where the store was.',
  outputs: { 'db-backup': async () => (await import('./output.ts')).backupOutput },
  define: backupOptions,
  run: async ([file], options, io) => (await import('./copies.ts')).backup(file, options, io),
});

const mergeOptions = (command: PlainCommand) =>
  command.arguments('<others...>').option('--no-artefacts', 'merge only the stores, not their artefacts');

export type MergeOptions = OptionsOf<typeof mergeOptions>;

const mergeCommand = defineCommand({
  name: 'merge',
  summary: 'merge other stores into this one',
  examples: ['bench db merge ../gpu2/bench.sqlite', 'bench db merge a.sqlite b.sqlite --db all.sqlite'],
  notes: 'Repeat it to add new results. Exit code 4 if rows with the same id differ: the rows of this store stay.',
  outputs: { 'db-merge': async () => (await import('./output.ts')).mergeOutput },
  define: mergeOptions,
  run: async ([others], options, io) => (await import('./copies.ts')).mergeStores(others, options, io),
});

const pruneOptions = (command: PlainCommand) =>
  command
    .option('--keep <age>', 'keep sweeps younger than this: 36h, 90d, 12w, 1y', age)
    .option('--keep-sweeps <n>', 'keep the newest N sweeps of each matrix and branch', positiveInteger)
    .option('--layers', 'also delete layer profiles')
    .option('--samples-older-than <age>', 'also delete samples of sweeps that ended before that; artefacts stay', age)
    .option('--attachments-older-than <age>', 'also delete files that were attached before that', age)
    .option('--vacuum', 'return free space in the file to the disk')
    .option('--dry-run', 'only show what would be deleted');

export type PruneOptions = OptionsOf<typeof pruneOptions>;

const pruneCommand = defineCommand({
  name: 'prune',
  summary: 'delete samples and artefacts of old sweeps; summaries stay',
  examples: [
    'bench db prune --keep 90d --dry-run',
    'bench db prune --keep 90d --keep-sweeps 30',
    'bench db prune --attachments-older-than 30d     # captures and other attached files',
  ],
  notes:
    'The newest two sweeps of each matrix and branch, and what a baseline or an open finding needs, keep all but old attachments.',
  outputs: { 'db-prune': async () => (await import('./output.ts')).pruneOutput },
  define: pruneOptions,
  run: async (_, options, io) => (await import('./prune.ts')).prune(options, io),
});

const rmOptions = (command: PlainCommand) =>
  command.arguments('<sweeps...>').option('--dry-run', 'only show what would be removed');

export type RmOptions = OptionsOf<typeof rmOptions>;

const rmCommand = defineCommand({
  name: 'rm',
  summary: 'remove sweeps as if they had never been measured; their artefacts move to removed/',
  examples: [
    'bench db rm latest --dry-run     # what would be deleted',
    'bench db rm 1a2b3c4d             # the start of an id',
    'bench import removed/1a2b3c4d5e6f708192a3b4c5d6e7f809     # brings it back',
  ],
  notes:
    'Findings that it reported are deleted with it, and the next `bench check` judges later sweeps again. A sweep that is being measured, or that a baseline names, is refused (exit code 2).',
  outputs: { 'db-rm': async () => (await import('./output.ts')).rmOutput },
  define: rmOptions,
  run: async ([sweeps], options, io) => (await import('./rm.ts')).rm(sweeps, options, io),
});

const rejudgeOptions = (command: PlainCommand) =>
  command
    .addOption(metricOption())
    .addOption(filterOption())
    .option('--last <n>', 'use the newest N sweeps', positiveInteger, 1000);

export type RejudgeOptions = OptionsOf<typeof rejudgeOptions>;

const rejudgeCommand = defineCommand({
  name: 'rejudge',
  summary: "judge the stored sweeps by today's rules, next to what was reported",
  examples: ['bench db rejudge', "bench db rejudge --filter 'precision=fp8' --json"],
  outputs: { rejudge: async () => (await import('./output.ts')).rejudgeOutput },
  define: rejudgeOptions,
  run: async (_, options, io) => (await import('./rejudge.ts')).rejudgeStore(options, io),
});

export const dbCommands = defineGroup({
  name: 'db',
  summary: 'inspect, verify, back up, merge and prune the store, and remove sweeps',
  examples: ['bench db info', 'bench db merge ../other-machine/bench.sqlite'],
  commands: [infoCommand, verifyCommand, backupCommand, mergeCommand, pruneCommand, rmCommand, rejudgeCommand],
});
