import { Command, CommanderError } from 'commander';

import { addAnalyseCommands } from './cli/analyse-commands.ts';
import { addChoiceCommands } from './cli/choice-commands.ts';
import { addMeasureCommands } from './cli/measure-commands.ts';
import { addReportCommands } from './cli/report-commands.ts';
import { addStoreCommands } from './cli/store-commands.ts';
import { outliveReaders } from './commands/io.ts';
import { EXIT_CODES } from './domain/exit-codes.ts';
import { printable } from './domain/printable.ts';

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

outliveReaders();
addMeasureCommands(program);
addAnalyseCommands(program);
addChoiceCommands(program);
addReportCommands(program);
addStoreCommands(program);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // commander has printed its line; help and version are no faults.
  process.exitCode = error.exitCode === 0 ? EXIT_CODES.fine : EXIT_CODES.wrongUse;
}

/** What commander says of a wrong command line, as one line in this program's words. */
function wrongUseLine(text: string): string {
  const [, what = text, hint] = /^error: (.*?)(?:\n\(Did you mean (.*)\?\))?\n*$/s.exec(text) ?? [];
  const suggestion = hint === undefined ? '' : `; did you mean ${printable(hint)}?`;
  return `bench: ${printable(what).replace(/\.$/, '')}${suggestion} (--help shows what there is)\n`;
}
