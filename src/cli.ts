import { Command, CommanderError, InvalidArgumentError } from 'commander';

import { type Io, standardIo } from './commands/io.ts';
import { BenchError } from './domain/errors.ts';
import { EXIT_CODES, type ExitCode } from './domain/exit-codes.ts';
import { printable } from './report/printable.ts';

interface CommonOptions {
  readonly color?: boolean;
}

const program = new Command('bench')
  .description('TensorRT benchmarks that tell what got slower, by how much, and how sure that is.')
  .helpCommand(true)
  .showHelpAfterError('(run with --help for examples)')
  .exitOverride()
  .version('', '-V, --version', 'print the version')
  .addHelpText(
    'after',
    `
Exit codes: 0 fine · 1 regression · 2 wrong use or bad input · 3 the environment lacks something
            4 some runs failed · 5 unclear, with --fail-on unclear · 130 interrupted`,
  );

/** A subcommand with the options that every command has. */
function command(usage: string, description: string, examples: readonly string[]): Command {
  const lines = examples.map((example) => `  $ ${example}`).join('\n');
  return program
    .command(usage)
    .description(description)
    .option('--json', 'one documented JSON object on standard output')
    .option('--db <file>', 'the store (default: $BENCH_DB, else bench.sqlite found upwards)')
    .option('--no-color', 'no colour')
    .addHelpText('after', `\nExamples:\n${lines}`);
}

/** Runs a command and turns what it throws into lines and an exit code. */
async function run(options: CommonOptions, start: (io: Io) => Promise<ExitCode>): Promise<void> {
  const io = standardIo(options);
  try {
    process.exitCode = await start(io);
  } catch (error) {
    process.exitCode = explain(error, io);
  }
}

function explain(error: unknown, io: Io): ExitCode {
  if (io.signal.aborted) {
    io.err('bench: interrupted\n');
    return EXIT_CODES.interrupted;
  }
  if (error instanceof BenchError) {
    for (const line of error.lines) io.err(`bench: ${line}\n`);
    return error.exitCode;
  }
  const text = error instanceof Error ? error.message : String(error);
  io.err(
    `bench: this is a defect in bench: ${printable(text)} (set BENCH_DEBUG=1 for the stack)\n`,
  );
  if (io.env['BENCH_DEBUG'] && error instanceof Error) io.err(`${error.stack ?? ''}\n`);
  return EXIT_CODES.internalError;
}

function positiveInteger(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) {
    throw new InvalidArgumentError('must be a whole number from 1 on.');
  }
  return value;
}

command(
  'parse <paths...>',
  'what the parser sees in a trtexec log or a run folder; stores nothing',
  [
    'bench parse trtexec.log',
    'bench parse results/ --json | jq .runs[].throughputQps',
    'trtexec --loadEngine=m.plan 2>&1 | bench parse -',
  ],
)
  .option(
    '--min-queries <n>',
    'fewer timed queries are no measurement (default: 30)',
    positiveInteger,
  )
  .action(async (paths: string[], options) => {
    await run(options, async (io) =>
      (await import('./commands/parse.ts')).parse(paths, options, io),
    );
  });

command('import <paths...>', 'take logs and exports of any trtexec run into the store', [
  'bench import logs/2026-11-20/',
  'bench import --sweep v1.2 --commit v1.2 results/*.log',
  'bench import artefacts/   # rebuilds a lost store',
])
  .option('--sweep <name>', 'all of it is one sweep of this name (default: one for each folder)')
  .option('--commit <rev>', 'the commit that was measured')
  .option('--branch <name>', 'its branch')
  .action(async (paths: string[], options) => {
    await run(options, async (io) =>
      (await import('./commands/import.ts')).importRuns(paths, options, io),
    );
  });

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // commander has printed its line; help and version are no faults.
  process.exitCode = error.exitCode === 0 ? EXIT_CODES.fine : EXIT_CODES.wrongUse;
}
