import { Command, CommanderError, type CommandUnknownOpts, Help, type Option } from '@commander-js/extra-typings';

import { type DefinedCommand, defineGroup, type Execute } from './cli/define-command.ts';
import { execute } from './cli/execute.ts';
import type { Io } from './cli/io.ts';
import { toolVersion } from './cli/store-location.ts';
import { EXIT_CODE_WORDS, EXIT_CODES, type ExitCode } from './errors.ts';
import { abCommand } from './features/ab/command.ts';
import { ackCommand } from './features/ack/command.ts';
import { baselineCommands, baselinesCommand } from './features/baseline/command.ts';
import { bisectCommand } from './features/bisect/command.ts';
import { checkCommand } from './features/check/command.ts';
import { chooseCommand } from './features/choose/command.ts';
import { compareCommand } from './features/compare/command.ts';
import { completionCommand } from './features/completion/command.ts';
import { dbCommands } from './features/db/command.ts';
import { detectCommand } from './features/detect/command.ts';
import { doctorCommand } from './features/doctor/command.ts';
import { cachedEnginesCommand, enginesCommands } from './features/engines/command.ts';
import { exportCommand } from './features/export/command.ts';
import { helpCommand } from './features/help/command.ts';
import { importCommand } from './features/import/command.ts';
import { initCommand } from './features/init/command.ts';
import { layersCommand } from './features/layers/command.ts';
import { cellsCommand, findingsCommand, machinesCommand, sweepsCommand } from './features/ls/command.ts';
import { modelCommands } from './features/model/command.ts';
import { noiseCommand } from './features/noise/command.ts';
import { parseCommand } from './features/parse/command.ts';
import { planCommand } from './features/plan/command.ts';
import { profileCommand } from './features/profile/command.ts';
import { reportCommand, serveCommand } from './features/report/command.ts';
import { reproCommand } from './features/repro/command.ts';
import { runCommand } from './features/run/command.ts';
import { schemaCommand } from './features/schema/command.ts';
import { showCommand } from './features/show/command.ts';
import { slurmCommands, slurmExecutor } from './features/slurm/command.ts';
import { trendCommand } from './features/trend/command.ts';
import { whyCommand } from './features/why/command.ts';
import { dotted, labelled, wrapHanging } from './terminal/look.ts';
import { nearest } from './text/nearest.ts';
import { printable } from './text/printable.ts';

export { ignoreEpipe, processIo } from './cli/process-io.ts';

const lsCommands = defineGroup({
  name: 'ls',
  summary: 'list sweeps, cells, machines, findings, baselines or engines',
  examples: ['bench ls sweeps', "bench ls cells --filter 'precision=fp8'", 'bench ls baselines', 'bench ls engines'],
  notes: 'Use ls for lists of what is stored; bench show has one of them in detail.',
  commands: [sweepsCommand, cellsCommand, machinesCommand, baselinesCommand, cachedEnginesCommand, findingsCommand],
});

const GROUPS: readonly (readonly [heading: string, ...commands: DefinedCommand[]])[] = [
  [
    'Measure:',
    initCommand,
    doctorCommand,
    planCommand,
    runCommand(slurmExecutor),
    importCommand,
    parseCommand,
    abCommand,
    bisectCommand,
  ],
  ['Judge:', compareCommand, checkCommand, ackCommand, baselineCommands, noiseCommand],
  ['Explain:', whyCommand, layersCommand, profileCommand, showCommand],
  ['View:', trendCommand, lsCommands, reportCommand, serveCommand],
  ['Choose:', chooseCommand, modelCommands],
  ['Share:', exportCommand, reproCommand],
  ['Maintain:', dbCommands, enginesCommands, slurmCommands],
  ['Plumbing:', detectCommand, schemaCommand, completionCommand, helpCommand],
];

const FIRST_SCREEN = ['init', 'doctor', 'plan', 'run', 'compare', 'check', 'why', 'trend', 'report'];

/** @param argv without Node and the script */
export async function main(argv: readonly string[], io: Io): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT_CODES.fine;
  const program = makeProgram(io, async (options, start) => {
    exitCode = await execute(options, io, start);
  });
  if (argv.length === 0) {
    program.outputHelp();
    return EXIT_CODES.fine;
  }
  const removed = removedLine(argv);
  if (removed !== null) {
    io.err(removed);
    return EXIT_CODES.wrongUse;
  }
  try {
    await program.parseAsync(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT_CODES.fine : EXIT_CODES.wrongUse;
  }
  return exitCode;
}

/** All commands, with their options and help. */
export function makeProgram(io: Io, start: Execute): Command {
  const program: Command = new Command('bench');
  const usages = () => new Map(withInner(program.commands).map(([name, command]) => [name, command.usage()]));
  program
    .description('TensorRT benchmarks: what got slower, by how much, and how sure that is.')
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      outputError: (text, write) => write(wrongUseLine(text, usages())),
      getOutHelpWidth: () => io.look.columns,
      getErrHelpWidth: () => io.errLook.columns,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({
      groupItems: firstScreenAsOne,
      minWidthToWrap: 20,
      subcommandTerm: withoutOptions,
      visibleCommands: firstScreen,
    })
    .exitOverride()
    .version(toolVersion(), '-V, --version', 'print the version')
    .addHelpText('after', () =>
      [
        '',
        ...labelled('Exit codes: ', dotted(EXIT_CODE_WORDS), io.look.columns),
        '',
        ...FURTHER_HELP.flatMap((line) => wrapHanging(line, io.look.columns, 2)),
      ].join('\n'),
    );
  for (const [heading, ...commands] of GROUPS) {
    program.commandsGroup(heading);
    for (const add of commands) add(program, start);
  }
  return program;
}

/** Commands by name, and those of groups as `db verify`. */
function withInner(commands: readonly CommandUnknownOpts[]): [name: string, command: CommandUnknownOpts][] {
  return commands.flatMap((command) => [
    [command.name(), command],
    ...command.commands.map((inner): [string, CommandUnknownOpts] => [`${command.name()} ${inner.name()}`, inner]),
  ]);
}

const FURTHER_HELP = [
  'bench init writes a first matrix; bench help lists all commands and topics',
  'bench help WORD explains a command, a metric or a word: bench help verdict',
];

function firstScreen(this: Help, command: CommandUnknownOpts): CommandUnknownOpts[] {
  const visible = Help.prototype.visibleCommands.call(this, command);
  if (command.parent !== null) return visible;
  return FIRST_SCREEN.flatMap((name) => visible.find((each) => each.name() === name) ?? []);
}

/** The first screen shows its commands as one group. */
function firstScreenAsOne<Item extends Command | Option>(
  this: Help,
  unsorted: Item[],
  visible: Item[],
  groupOf: (item: Item) => string,
): Map<string, Item[]> {
  const isFirst = visible.length === FIRST_SCREEN.length && visible.every((item) => FIRST_SCREEN.includes(item.name()));
  return Help.prototype.groupItems(unsorted, visible, isFirst ? () => 'Commands:' : groupOf);
}

function withoutOptions(command: Command): string {
  return Help.prototype.subcommandTerm(command).replace(' [options]', '');
}

/** Commands to suggest for names of other tools, and for words of several commands. */
const MEANT: ReadonlyMap<string, string> = new Map([
  ['blame', 'bisect'],
  ['clean', 'db prune'],
  ['diff', 'compare'],
  ['explain', 'show RUN --next'],
  ['history', 'trend'],
  ['latest', 'show latest'],
  ['list', 'ls'],
  ['log', 'ls sweeps'],
  ['pareto', 'choose'],
  ['resume', 'run --resume'],
  ['rm', 'db rm'],
  ['slo', 'choose --max-latency MS'],
  ['status', 'ls sweeps'],
]);

/** @param usages usage lines of the commands of bench by name, such as `db verify` */
export function wrongUseLine(text: string, usages: ReadonlyMap<string, string>): string {
  const [, what = text, hint = null] = /^error: (.*?)(?:\n\(Did you mean (.*)\?\))?\n*$/s.exec(text) ?? [];
  const [, unknown] = /^unknown command '(.*)'$/.exec(what) ?? [];
  const option = what === "unknown option '-v'" ? '--version' : hint;
  const meant = unknown === undefined ? (option ?? choiceMeant(what)) : commandMeant(unknown, [...usages.keys()]);
  const ofCell = /^unknown option '.*=/.test(what) ? '; where it names a cell, write it last, after --' : '';
  const suggestion = meant === null ? ofCell : `; did you mean ${printable(meant)}?`;
  const [, crowded = ''] = /^too many arguments for '(.*?)'/.exec(what) ?? [];
  const usage = usages.get(crowded);
  const help = usage === undefined ? 'see --help' : `usage: bench ${crowded} ${usage}`;
  return `bench: ${printable(what).replace(/\.$/, '').replace(' is invalid. ', ' is invalid: ')}${suggestion} (${help})\n`;
}

function commandMeant(word: string, commands: readonly string[]): string | null {
  const named = commands.map((command): [string, string] => [command.split(' ').at(-1) ?? command, command]);
  const known = new Map([...named.toReversed(), ...MEANT].filter(([, command]) => command !== word));
  const found = nearest(word, [...known.keys()]);
  return found === null ? null : (known.get(found) ?? null);
}

function choiceMeant(what: string): string | null {
  const [, word = '', allowed = ''] = /argument '(.*)' is invalid\. Allowed choices are (.*)\.$/s.exec(what) ?? [];
  return word === '' ? null : nearest(word, allowed.split(', '));
}

/** Commands, and options of commands, of the previous version; a row stays for one release. */
const REMOVED: ReadonlyMap<string, string> = new Map([
  ['noise --want', 'its table shows the change that 1, 3, 5 and 10 runs detect'],
  ['ls machines --cells', 'bench compare gpu=A gpu=B --across-gpu compares GPUs'],
  ['ls machines --metric', 'bench compare gpu=A gpu=B --metric compares machines'],
  ['report --google-benchmark', '--bmf and --csv have the same numbers'],
  ['init --yes', 'bench init never asks'],
  ['help man', '`bench help` and --help of each command document all options'],
]);

/** One line for a removed command or option; null otherwise. */
export function removedLine(argv: readonly string[]): string | null {
  const typed = argv.filter((word) => !word.startsWith('-')).join(' ');
  for (const [name, instead] of REMOVED) {
    const [command = '', option] = name.split(/ (?=--)/);
    const isGiven = option === undefined || argv.some((word) => word === option || word.startsWith(`${option}=`));
    if (!isGiven || !`${typed} `.startsWith(`${command} `)) continue;
    return `bench: ${option === undefined ? '' : `${option} of `}bench ${command} was removed: ${instead}\n`;
  }
  return null;
}
