import { Command, CommanderError, Help, type Option } from '@commander-js/extra-typings';

import { COMMON_OPTIONS, type DefinedCommand } from './cli/define-command.ts';
import { execute } from './cli/execute.ts';
import type { Io } from './cli/io.ts';
import { toolVersion } from './cli/tool-version.ts';
import { EXIT_CODES, type ExitCode } from './exit-codes.ts';
import { abCommand } from './features/ab/command.ts';
import { accuracyCommand } from './features/accuracy/command.ts';
import { ackCommand } from './features/ack/command.ts';
import { attachCommand } from './features/attach/command.ts';
import { baselineCommands } from './features/baseline/command.ts';
import { bisectCommand } from './features/bisect/command.ts';
import { checkCommand } from './features/check/command.ts';
import { paretoCommand, sloCommand } from './features/choose/command.ts';
import { compareCommand } from './features/compare/command.ts';
import { completionCommand } from './features/completion/command.ts';
import { dbCommands } from './features/db/command.ts';
import { detectCommand } from './features/detect/command.ts';
import { doctorCommand } from './features/doctor/command.ts';
import { enginesCommands } from './features/engines/command.ts';
import { explainCommand } from './features/explain/command.ts';
import { exportCommand } from './features/export/command.ts';
import { helpCommand } from './features/help/command.ts';
import { importCommand } from './features/import/command.ts';
import { initCommand } from './features/init/command.ts';
import { inspectCommand } from './features/inspect/command.ts';
import { layersCommand } from './features/layers/command.ts';
import { sweepsCommand, cellsCommand } from './features/ls/command.ts';
import { makeDatasetCommand } from './features/make-dataset/command.ts';
import { makeInputsCommand } from './features/make-inputs/command.ts';
import { noiseCommand } from './features/noise/command.ts';
import { parseCommand } from './features/parse/command.ts';
import { planCommand } from './features/plan/command.ts';
import { profileCommand } from './features/profile/command.ts';
import { quantizeCommand } from './features/quantize/command.ts';
import { reportCommand, serveCommand } from './features/report/command.ts';
import { reproCommand } from './features/repro/command.ts';
import { runCommand } from './features/run/command.ts';
import { schemaCommand } from './features/schema/command.ts';
import { showCommand } from './features/show/command.ts';
import { collectCommand, resumeCommand, cancelCommand, workerCommand } from './features/slurm/command.ts';
import { trendCommand } from './features/trend/command.ts';
import { whyCommand } from './features/why/command.ts';
import { printable } from './text/printable.ts';
import { nearest } from './text/nearest.ts';

const GROUPS: readonly (readonly [heading: string, ...commands: DefinedCommand[]])[] = [
  [
    'Measure:',
    parseCommand,
    importCommand,
    inspectCommand,
    makeInputsCommand,
    initCommand,
    doctorCommand,
    makeDatasetCommand,
    planCommand,
    runCommand,
    abCommand,
    quantizeCommand,
  ],
  [
    'What changed:',
    compareCommand,
    trendCommand,
    checkCommand,
    noiseCommand,
    layersCommand,
    whyCommand,
    ackCommand,
    bisectCommand,
    detectCommand,
  ],
  ['Look inside:', profileCommand, explainCommand, attachCommand],
  ['Which to take:', paretoCommand, sloCommand, accuracyCommand],
  ['For others:', reportCommand, serveCommand, reproCommand, exportCommand],
  ['Slurm:', collectCommand, resumeCommand, cancelCommand, workerCommand],
  [
    'What is stored:',
    sweepsCommand,
    cellsCommand,
    showCommand,
    baselineCommands,
    schemaCommand,
    dbCommands,
    enginesCommands,
  ],
  ['Help:', helpCommand, completionCommand],
];

/** Help is no wider, however wide the terminal is. */
const HELP_COLUMNS = 80;

/** What a command line does, with nothing of the process but `io`. @param argv without Node and the program's file */
export async function main(argv: readonly string[], io: Io): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT_CODES.fine;
  const program = makeProgram(io);
  for (const [heading, ...commands] of GROUPS) {
    program.commandsGroup(heading);
    for (const add of commands) {
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
