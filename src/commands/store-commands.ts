import type { Command } from 'commander';

import type { Execute } from '../cli/execute.ts';
import { command, filterOption, metricOption, positiveInteger, precisionShareOption } from '../cli/options.ts';

/** What shows the store, and what is kept in it by name. */
export function addStoreCommands(program: Command, run: Execute): void {
  command(program, 'sweeps', 'the sweeps in the store, the newest first', [
    'bench sweeps',
    'bench sweeps --last 5 --json',
  ])
    .option('--last <n>', 'so many', positiveInteger, 20)
    .action(async (options) => {
      await run(options, async (io) => (await import('./analysis-bundle.ts')).sweeps(options, io));
    });

  command(program, 'cells', 'the cells in the store', ['bench cells', "bench cells --filter 'precision=fp8'"])
    .addOption(filterOption())
    .action(async (options) => {
      await run(options, async (io) => (await import('./analysis-bundle.ts')).cells(options, io));
    });

  command(program, 'show <what>', 'what is stored of a run, a sweep or a cell', [
    'bench show latest                # the newest sweep',
    'bench show 1a2b3c4d              # the start of an id, or of a key',
    'bench show latest --map          # its times by precision and batch',
    'bench show latest --map --metric throughputQps',
    'bench show 1a2b3c4d --samples > queries.csv',
  ])
    .option('--samples', 'the times of every query of a run, as CSV')
    .option('--map', 'of a sweep: its values as a map of precision and batch')
    .addOption(metricOption('what the map shows'))
    .addOption(precisionShareOption())
    .action(async (what: string, options) => {
      await run(options, async (io) => (await import('./measuring-bundle.ts')).show(what, options, io));
    });

  const baseline = program
    .command('baseline')
    .description('named sweeps to compare with: bench compare baseline:NAME')
    .addHelpText(
      'after',
      '\nExamples:\n  $ bench baseline set v1.2\n  $ bench baseline set release HEAD~3 --reason "as shipped"\n  $ bench baseline list',
    );

  command(baseline, 'set <name> [ref]', 'pin a name to a sweep (default: the newest)', ['bench baseline set v1.2'])
    .option('--reason <text>', 'why')
    .action(async (name: string, ref: string | undefined, options) => {
      await run(options, async (io) => (await import('./analysis-bundle.ts')).setNamed(name, ref, options, io));
    });

  command(baseline, 'list', 'the baselines', ['bench baseline list']).action(async (options) => {
    await run(options, async (io) => (await import('./analysis-bundle.ts')).listAll(options, io));
  });

  command(baseline, 'show <name>', 'the sweep that a name is pinned to', ['bench baseline show v1.2']).action(
    async (name: string, options) => {
      await run(options, async (io) => (await import('./measuring-bundle.ts')).show(`baseline:${name}`, options, io));
    },
  );

  command(baseline, 'rm <name>', 'forget a name; its sweep is kept', ['bench baseline rm v1.2']).action(
    async (name: string, options) => {
      await run(options, async (io) => (await import('./analysis-bundle.ts')).removeNamed(name, options, io));
    },
  );

  program
    .command('schema <name>')
    .description('JSON Schema of the matrix file (for editors), or of what --json prints')
    .addHelpText(
      'after',
      '\nExamples:\n  $ bench schema matrix > matrix.schema.json\n  $ bench schema compare     # what `bench compare --json` prints',
    )
    .action(async (name: string) => {
      await run({}, async (io) => (await import('./measuring-bundle.ts')).schema(name, io));
    });
}
