import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';

import { DEFAULT_FAIL_ON, FAIL_ON_WORDS } from './commands/fail-on.ts';
import { type Io, standardIo } from './commands/io.ts';
import { TREND_UNITS } from './analyse/trend.ts';
import { EXIT_CODES, type ExitCode } from './domain/exit-codes.ts';
import { METRIC_IDS } from './domain/metrics.ts';
import { printable } from './domain/printable.ts';
import { PROVENANCES } from './domain/provenance.ts';
import { isOneOf } from './domain/unknown-values.ts';

interface CommonOptions {
  readonly color?: boolean;
}

const program = new Command('bench')
  .description('TensorRT benchmarks that tell what got slower, by how much, and how sure that is.')
  .helpCommand(true)
  .configureOutput({ outputError: (text, write) => write(wrongUseLine(text)) })
  .exitOverride()
  .version('', '-V, --version', 'print the version')
  .addHelpText(
    'after',
    `
Exit codes: 0 fine · 1 regression · 2 wrong use or bad input · 3 the environment lacks something
            4 some runs failed · 5 unclear, with --fail-on unclear · 130 interrupted`,
  );

/** What commander says of a wrong command line, as one line in this program's words. */
function wrongUseLine(text: string): string {
  const [, what = text, hint] = /^error: (.*?)(?:\n\(Did you mean (.*)\?\))?\n*$/s.exec(text) ?? [];
  const suggestion = hint === undefined ? '' : `; did you mean ${printable(hint)}?`;
  return `bench: ${printable(what).replace(/\.$/, '')}${suggestion} (--help shows what there is)\n`;
}

/** A subcommand with the options that every command has. */
function command(
  usage: string,
  description: string,
  examples: readonly string[],
  parent: Command = program,
): Command {
  const lines = examples.map((example) => `  $ ${example}`).join('\n');
  return parent
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
    process.exitCode = (await import('./commands/explain.ts')).explain(error, io);
  }
}

function positiveInteger(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) {
    throw new InvalidArgumentError('must be a whole number from 1 on.');
  }
  return value;
}

function filterOption(): Option {
  return new Option(
    '--filter <expression>',
    'only these cells: FIELD = != < <= > >= VALUE, joined with & | ! ( ), * in a value stands for any text',
  );
}

function failOnOption(): Option {
  return new Option('--fail-on <list>', `what makes an exit code: ${FAIL_ON_WORDS.join(', ')}`)
    .default(DEFAULT_FAIL_ON, DEFAULT_FAIL_ON.join(','))
    .argParser((text) => {
      const words = text.split(',').map((word) => word.trim());
      return words.map((word) => {
        if (!isOneOf(FAIL_ON_WORDS, word)) {
          throw new InvalidArgumentError(`"${word}" is not one of ${FAIL_ON_WORDS.join(', ')}.`);
        }
        return word;
      });
    });
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

command('plan <matrix>', 'the cells, builds and runs of a matrix with their exact command lines', [
  'bench plan matrices/nightly.yaml',
  'bench plan matrices/nightly.yaml --tensorrt 11.0   # no trtexec needed',
  "bench plan matrices/nightly.yaml --filter 'precision=fp8 & batch>=8' --json",
])
  .addOption(filterOption())
  .option('--repeats <n>', 'runs of each cell', positiveInteger)
  .option('--seed <n>', 'of the order of runs (default: a new one for each sweep)', positiveInteger)
  .option('--profile', 'a profile run of each cell as well')
  .option('--tensorrt <version>', 'plan for this version, without a trtexec')
  .option('--trtexec <path>', 'the trtexec to use')
  .option('--replay <set>', 'answer from recordings: the name of a set, or a folder')
  .action(async (matrix: string, options) => {
    await run(options, async (io) =>
      (await import('./commands/plan.ts')).plan(matrix, options, io),
    );
  });

command('run [matrix]', 'build, measure and store every cell of a matrix', [
  'bench run matrices/quickstart.yaml --replay night1',
  'bench run matrices/nightly.yaml --repeats 5',
  "bench run matrices/nightly.yaml --filter 'model=vit* & cudaGraph=on'",
  'bench run --resume',
])
  .addOption(filterOption())
  .option('--repeats <n>', 'runs of each cell', positiveInteger)
  .option('--seed <n>', 'of the order of runs (default: a new one for each sweep)', positiveInteger)
  .option('--profile', 'a profile run of each cell as well')
  .option('--trtexec <path>', 'the trtexec to use (default: $TRTEXEC, else from PATH)')
  .option('--replay <set>', 'answer from recordings: the name of a set, or a folder')
  .addOption(
    new Option('--replay-timing <how>', 'whether a recording takes as long as it took')
      .choices(['instant', 'original'])
      .default('instant'),
  )
  .option('--resume [sweep]', 'go on with a sweep that was interrupted')
  .option('--dry-run', 'show the plan and do nothing')
  .option('--commit <rev>', 'the commit that is measured (default: HEAD)')
  .option('--branch <name>', 'its branch (default: the one checked out)')
  .addOption(failOnOption())
  .action(async (matrix: string | undefined, options) => {
    await run(options, async (io) => (await import('./commands/run.ts')).run(matrix, options, io));
  });

function metricOption(): Option {
  return new Option('--metric <name>', 'what is compared (default: gpuComputeMs)').choices(
    METRIC_IDS,
  );
}

command('compare [base] [head]', 'what got slower between two commits, sweeps or baselines', [
  'bench compare                      # the last two sweeps of this branch',
  'bench compare HEAD~1               # this commit against the one before',
  'bench compare main..HEAD --metric throughputQps',
  'bench compare baseline:v1.2 latest --fail-on regression,unclear',
])
  .addOption(metricOption())
  .addOption(filterOption())
  .addOption(failOnOption())
  .option('--across-provenance', 'compare recorded with measured results all the same')
  .option('--across-gpu', 'compare results of different GPU models all the same')
  .option('--across-tensorrt', 'compare results of different TensorRT majors all the same')
  .action(async (base: string | undefined, head: string | undefined, options) => {
    await run(options, async (io) =>
      (await import('./commands/compare.ts')).compare(base, head, options, io),
    );
  });

command('trend [cells...]', 'values of cells over nights, commits, sweeps or runs', [
  'bench trend',
  'bench trend vit_small --metric throughputQps',
  "bench trend 'model=vit* & batch=8' --together --by commit",
])
  .addOption(metricOption())
  .addOption(
    new Option('--by <unit>', 'a step of the time axis (default: by how much there is)').choices(
      TREND_UNITS,
    ),
  )
  .option('--last <n>', 'so many steps', positiveInteger, 90)
  .option('--height <n>', 'lines of a chart', positiveInteger, 10)
  .addOption(filterOption())
  .addOption(
    new Option(
      '--provenance <which>',
      'only results of this kind (default: that of the newest)',
    ).choices(PROVENANCES),
  )
  .option('--together', "all cells in one chart, as change from each cell's first value")
  .action(async (names: string[], options) => {
    await run(options, async (io) =>
      (await import('./commands/trend.ts')).trend(names, options, io),
    );
  });

command('sweeps', 'the sweeps in the store, the newest first', [
  'bench sweeps',
  'bench sweeps --last 5 --json',
])
  .option('--last <n>', 'so many', positiveInteger, 20)
  .action(async (options) => {
    await run(options, async (io) => (await import('./commands/sweeps.ts')).sweeps(options, io));
  });

command('cells', 'the cells in the store', ['bench cells', "bench cells --filter 'precision=fp8'"])
  .addOption(filterOption())
  .action(async (options) => {
    await run(options, async (io) => (await import('./commands/cells.ts')).cells(options, io));
  });

command('show <what>', 'what is stored of a run, a sweep or a cell', [
  'bench show latest                # the newest sweep',
  'bench show 1a2b3c4d              # the start of an id, or of a key',
  'bench show 1a2b3c4d --samples > queries.csv',
])
  .option('--samples', 'the times of every query of a run, as CSV')
  .action(async (what: string, options) => {
    await run(options, async (io) => (await import('./commands/show.ts')).show(what, options, io));
  });

const baseline = program
  .command('baseline')
  .description('named sweeps to compare with: bench compare baseline:NAME')
  .addHelpText(
    'after',
    '\nExamples:\n  $ bench baseline set v1.2\n  $ bench baseline set release HEAD~3 --reason "as shipped"\n  $ bench baseline list',
  );

command(
  'set <name> [ref]',
  'pin a name to a sweep (default: the newest)',
  ['bench baseline set v1.2'],
  baseline,
)
  .option('--reason <text>', 'why')
  .action(async (name: string, ref: string | undefined, options) => {
    await run(options, async (io) =>
      (await import('./commands/baseline.ts')).setNamed(name, ref, options, io),
    );
  });

command('list', 'the baselines', ['bench baseline list'], baseline).action(async (options) => {
  await run(options, async (io) => (await import('./commands/baseline.ts')).listAll(options, io));
});

command(
  'rm <name>',
  'forget a name; its sweep is kept',
  ['bench baseline rm v1.2'],
  baseline,
).action(async (name: string, options) => {
  await run(options, async (io) =>
    (await import('./commands/baseline.ts')).removeNamed(name, options, io),
  );
});

program
  .command('schema <name>')
  .description('JSON Schema of the matrix file (for editors), or of what --json prints')
  .addHelpText(
    'after',
    '\nExamples:\n  $ bench schema matrix > matrix.schema.json\n  $ bench schema compare     # what `bench compare --json` prints',
  )
  .action(async (name: string) => {
    await run({}, async (io) => (await import('./commands/schema.ts')).schema(name, io));
  });

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // commander has printed its line; help and version are no faults.
  process.exitCode = error.exitCode === 0 ? EXIT_CODES.fine : EXIT_CODES.wrongUse;
}
