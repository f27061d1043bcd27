import { type Argument, type CommandUnknownOpts, Help, type Option } from '@commander-js/extra-typings';

import { outputsOf } from './define-command.ts';

/** The commands as data, with their examples as `--help` shows them. */
export function commandTree(command: CommandUnknownOpts, parents: readonly string[] = []): CommandInfo {
  const words = [...parents, command.name()];
  // All of them, whatever the help of a command shows first.
  const help = new Help();
  return {
    path: words.join(' '),
    name: command.name(),
    group: command.helpGroup().replace(/:$/, ''),
    description: command.description(),
    usage: command.usage(),
    arguments: command.registeredArguments.map(argumentInfo),
    options: help.visibleOptions(command).map(optionInfo),
    commands: help
      .visibleCommands(command)
      // commander's own `help` of a group says what `--help` says.
      .filter((each) => command.commands.includes(each))
      .map((each) => commandTree(each, words)),
    outputs: Object.keys(outputsOf(command)),
    examples: examplesOf(command),
  };
}

function argumentInfo(argument: Argument): ArgumentInfo {
  return { name: argument.name(), isVariadic: argument.variadic, choices: argument.argChoices ?? [] };
}

function optionInfo(option: Option): OptionInfo {
  const { argChoices, defaultValue, defaultValueDescription } = option;
  const isShown = option.required || option.optional;
  const shown: unknown = defaultValueDescription ?? defaultValue;
  return {
    flags: option.flags,
    name: option.long ?? option.short ?? option.flags,
    description: option.description,
    takesValue: option.required ? 'yes' : option.optional ? 'maybe' : 'no',
    isVariadic: option.variadic,
    choices: argChoices ?? [],
    defaultText: isShown && shown !== undefined ? String(shown) : null,
  };
}

function examplesOf(command: CommandUnknownOpts): string[] {
  const [, after = ''] = helpText(command).split('\nExamples:\n');
  return after.split('\n').flatMap((line) => /^\s+\$ (.*)$/.exec(line)?.[1] ?? []);
}

export function helpText(command: CommandUnknownOpts): string {
  const before = command.configureOutput();
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  command.configureOutput(before);
  return text;
}

/** `baseline set` as a command; null when the words are no command. */
export function commandNamed(program: CommandUnknownOpts, words: readonly string[]): CommandUnknownOpts | null {
  let command = program;
  for (const word of words) {
    const inner = command.commands.find((each) => each.name() === word);
    if (inner === undefined) return null;
    command = inner;
  }
  return words.length === 0 ? null : command;
}

/** A command line as data: help, manual and completion are made from it. */
export interface CommandInfo {
  readonly path: string;
  readonly name: string;
  /** The heading under which `bench help` lists it. */
  readonly group: string;
  readonly description: string;
  /** What follows its name: `[options] <name> [ref]`. */
  readonly usage: string;
  readonly arguments: readonly ArgumentInfo[];
  readonly options: readonly OptionInfo[];
  readonly commands: readonly CommandInfo[];
  /** Names of what it and its commands print with `--json`. */
  readonly outputs: readonly string[];
  /** Command lines, some with a comment behind them. */
  readonly examples: readonly string[];
}

interface ArgumentInfo {
  readonly name: string;
  readonly isVariadic: boolean;
  readonly choices: readonly string[];
}

export interface OptionInfo {
  /** `-V, --version`, `--last <n>`. */
  readonly flags: string;
  /** `--last`. */
  readonly name: string;
  readonly description: string;
  readonly takesValue: 'no' | 'maybe' | 'yes';
  readonly isVariadic: boolean;
  readonly choices: readonly string[];
  /** As it is shown; null when there is none. */
  readonly defaultText: string | null;
}
