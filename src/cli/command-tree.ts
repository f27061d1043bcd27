import { type CommandUnknownOpts, Help, type Option } from '@commander-js/extra-typings';

/**
 * The subcommands of a command, including hidden ones. Omits commander's own `help`, which prints the same as `--help`.
 */
export function commandsOf(command: CommandUnknownOpts): CommandUnknownOpts[] {
  return new Help().visibleCommands(command).filter((each) => command.commands.includes(each));
}

/** All options, including those that the help hides. */
export function optionsOf(command: CommandUnknownOpts): Option[] {
  return new Help().visibleOptions(command);
}

export function optionName({ flags, long, short }: Option): string {
  return long ?? short ?? flags;
}

export function helpText(command: CommandUnknownOpts): string {
  const before = command.configureOutput();
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  command.configureOutput(before);
  return text;
}

/** Finds a command by its words, such as `baseline set`; null if there is none. */
export function commandNamed(program: CommandUnknownOpts, words: readonly string[]): CommandUnknownOpts | null {
  let command = program;
  for (const word of words) {
    const inner = command.commands.find((each) => each.name() === word);
    if (inner === undefined) return null;
    command = inner;
  }
  return words.length === 0 ? null : command;
}
