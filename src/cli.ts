import { Command, CommanderError, Help, type Option } from 'commander';

import { addAnalyseCommands } from './commands/analyse-commands.ts';
import { addCareCommands } from './commands/care-commands.ts';
import { addChoiceCommands } from './commands/choice-commands.ts';
import { addEngineCommands } from './commands/engine-commands.ts';
import { addExportCommands } from './commands/export-commands.ts';
import { addHelpCommands } from './commands/help-commands.ts';
import { addMeasureCommands } from './commands/measure-commands.ts';
import { COMMON_OPTIONS } from './cli/options.ts';
import { addProfileCommands } from './commands/profile-commands.ts';
import { addReportCommands } from './commands/report-commands.ts';
import { addSlurmCommands } from './commands/slurm-commands.ts';
import { addStoreCommands } from './commands/store-commands.ts';
import { execute } from './cli/execute.ts';
import type { Io } from './cli/io.ts';
import { toolVersion } from './cli/tool-version.ts';
import { EXIT_CODES, type ExitCode } from './exit-codes.ts';
import { printable } from './text/printable.ts';
import { nearest } from './text/nearest.ts';

const GROUPS = [
  ['Measure:', addMeasureCommands],
  ['What changed:', addAnalyseCommands],
  ['Look inside:', addProfileCommands],
  ['Which to take:', addChoiceCommands],
  ['For others:', addReportCommands, addExportCommands],
  ['Slurm:', addSlurmCommands],
  ['What is stored:', addStoreCommands, addCareCommands, addEngineCommands],
  ['Help:', addHelpCommands],
] as const;

/** Help is no wider, however wide the terminal is. */
const HELP_COLUMNS = 80;

/** What a command line does, with nothing of the process but `io`. @param argv without Node and the program's file */
export async function main(argv: readonly string[], io: Io): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT_CODES.fine;
  const program = makeProgram(io);
  for (const [heading, ...adders] of GROUPS) {
    program.commandsGroup(heading);
    for (const add of adders) {
      add(program, async (options, start) => {
        exitCode = await execute(options, io, start);
      });
    }
  }
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // commander has printed its line; help and version are no faults.
    return error.exitCode === 0 ? EXIT_CODES.fine : EXIT_CODES.wrongUse;
  }
  return exitCode;
}

function makeProgram(io: Io): Command {
  return new Command('bench')
    .description('TensorRT benchmarks that tell what got slower, by how much, and how sure that is.')
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      outputError: (text, write) => write(wrongUseLine(text)),
      getOutHelpWidth: () => Math.min(io.look.columns, HELP_COLUMNS),
      getErrHelpWidth: () => Math.min(io.errLook.columns, HELP_COLUMNS),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({ groupItems: commonLast, subcommandTerm: withoutOptions })
    .exitOverride()
    .version(toolVersion(), '-V, --version', 'print the version')
    .addHelpText(
      'after',
      `
Exit codes: 0 fine · 1 regression · 2 wrong use or bad input · 3 the environment lacks something
            4 some runs failed · 5 unclear, with --fail-on unclear · 130 interrupted

bench init writes a first matrix; bench help lists topics: words, metrics, matrix, exit-codes`,
    );
}

/** What commander says of a wrong command line, as one line in this program's words. */
function wrongUseLine(text: string): string {
  const [, what = text, hint] = /^error: (.*?)(?:\n\(Did you mean (.*)\?\))?\n*$/s.exec(text) ?? [];
  const meant = hint ?? choiceMeant(what);
  const suggestion = meant === null ? '' : `; did you mean ${printable(meant)}?`;
  return `bench: ${printable(what).replace(/\.$/, '')}${suggestion} (--help shows what there is)\n`;
}

/** commander lists what is allowed, but not which of it was meant. */
function choiceMeant(what: string): string | null {
  const [, word = '', allowed = ''] = /argument '(.*)' is invalid\. Allowed choices are (.*)\.$/s.exec(what) ?? [];
  return word === '' ? null : nearest(word, allowed.split(', '));
}

/** What every command has comes behind what is its own. */
function commonLast<Item extends Command | Option>(
  this: Help,
  unsorted: Item[],
  visible: Item[],
  groupOf: (item: Item) => string,
): Map<string, Item[]> {
  const groups = [...Help.prototype.groupItems(unsorted, visible, groupOf)];
  return new Map([
    ...groups.filter(([heading]) => heading !== COMMON_OPTIONS),
    ...groups.filter(([heading]) => heading === COMMON_OPTIONS),
  ]);
}

/** Every command has options: to say so of each says nothing. */
function withoutOptions(command: Command): string {
  return Help.prototype.subcommandTerm(command).replace(' [options]', '');
}
