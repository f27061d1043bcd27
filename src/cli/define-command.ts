import { Command, type CommandUnknownOpts, Help, Option, type OptionValues } from '@commander-js/extra-typings';
import type * as z from 'zod';

import type { ExitCode } from '../errors.ts';
import type { Io } from './io.ts';

export type CommonOptions = {
  readonly json?: true;
  readonly db?: string;
  readonly color?: boolean;
  readonly redact?: true;
  readonly quiet?: true;
};

/** The options of a command that concern its output. */
export type OutputOptions = Partial<CommonOptions> & { readonly failOn?: readonly string[]; readonly redact?: boolean };

export type Execute = (options: OutputOptions, start: (io: Io) => Promise<ExitCode>) => Promise<void>;

export type PlainCommand = Command<[], CommonOptions>;

export type OptionsOf<Define> = Define extends (command: PlainCommand) => Command<infer _Arguments, infer Options>
  ? Readonly<Omit<Options, 'color'>>
  : never;

export type DefinedCommand = (parent: CommandUnknownOpts, execute: Execute) => void;

type Outputs = Readonly<Record<string, () => Promise<z.ZodType>>>;

const OUTPUTS = new WeakMap<CommandUnknownOpts, Outputs>();

export function outputsOf(command: CommandUnknownOpts): Outputs {
  return Object.assign({}, OUTPUTS.get(command), ...command.commands.map(outputsOf));
}

export const COMMON_OPTIONS = 'In every command:';

interface Definition<Arguments extends unknown[], Options extends OptionValues> {
  readonly name: string;
  readonly summary: string;
  /** Command lines, optionally with a comment. */
  readonly examples: readonly string[];
  readonly notes?: string;
  /** Shown without `--help --all`. */
  readonly mainOptions?: readonly string[];
  readonly isHidden?: true;
  /** Hides the common options: the command uses no store and has only one output format. */
  readonly isPlain?: true;
  /** Whether printed names are hidden (default: `--redact`). Commands that write files redact them on their own. */
  readonly redact?: (options: Options) => boolean;
  readonly outputs?: Outputs;
  /** Declares arguments and options; `run` takes its types from it. */
  readonly define: (command: PlainCommand) => Command<Arguments, Options>;
  readonly run: (args: Arguments, options: Options, io: Io, program: CommandUnknownOpts) => Promise<ExitCode>;
}

export function defineCommand<Arguments extends unknown[], Options extends CommonOptions & OptionValues>(
  definition: Definition<Arguments, Options>,
): DefinedCommand {
  const { name, run } = definition;
  return (parent, execute) => {
    const base = new Command(name);
    describe(base, definition);
    const command = definition.define(base);
    addCommonOptions(command, definition.isPlain === true);
    if (definition.outputs !== undefined) OUTPUTS.set(command, definition.outputs);
    command.copyInheritedSettings(parent).action(() => {
      const options = command.opts();
      const redact = definition.redact?.(options) ?? options.redact === true;
      return execute({ ...options, redact }, (io) => run(command.processedArgs, options, io, parent));
    });
    if (definition.mainOptions !== undefined) showFirst(command, definition.mainOptions);
    parent.addCommand(command, { hidden: definition.isHidden === true });
  };
}

/** Hides all but the named and the common options until `--help --all`. */
function showFirst(command: CommandUnknownOpts, names: readonly string[]): void {
  command
    .optionsGroup('Options:')
    .option('--all', 'with --help: show all options')
    .configureHelp({
      ...command.configureHelp(),
      visibleOptions(shown) {
        const options = Help.prototype.visibleOptions.call(this, shown);
        const isShown = ({ helpGroupHeading, long }: (typeof options)[number]): boolean =>
          helpGroupHeading === COMMON_OPTIONS || names.includes(long ?? '') || long === '--all' || long === '--help';
        return shown.getOptionValue('all') === true ? options : options.filter(isShown);
      },
    });
}

interface Group extends Pick<Definition<[], OptionValues>, 'name' | 'summary' | 'examples' | 'notes'> {
  readonly commands: readonly DefinedCommand[];
}

export function defineGroup(definition: Group): DefinedCommand {
  return (parent, execute) => {
    const group = new Command(definition.name).copyInheritedSettings(parent);
    describe(group, definition);
    for (const add of definition.commands) add(group, execute);
    parent.addCommand(group);
  };
}

/** The last group of the help of each command. */
function addCommonOptions(command: CommandUnknownOpts, isPlain: boolean): void {
  command
    .optionsGroup(COMMON_OPTIONS)
    .addOption(new Option('--json', 'one documented JSON object on standard output').hideHelp(isPlain))
    .addOption(
      new Option('--db <file>', 'the store (default: $BENCH_DB, else bench.sqlite found upwards)').hideHelp(isPlain),
    )
    .addOption(new Option('-q, --quiet', 'results and errors only: no progress, no notes').hideHelp(isPlain))
    .addOption(new Option('--no-color', 'no color').hideHelp(isPlain))
    .addOption(
      new Option('--redact', 'mask the names of hosts, users, home folders and GPUs in the output').hideHelp(isPlain),
    )
    .optionsGroup('Options:');
}

/** Lists of commands show the summary; the help of each command also shows its notes. */
function describe(command: CommandUnknownOpts, { examples, notes, summary }: Omit<Group, 'commands' | 'name'>): void {
  command.summary(summary).description(notes === undefined ? summary : `${summary}\n\n${notes}`);
  if (examples.length === 0) return;
  command.addHelpText('after', `\nExamples:\n${examples.map((line) => `  $ ${line}`).join('\n')}`);
}

/**
 * The subcommands of a command, including hidden ones. Omits commander's own `help`, which prints the same as `--help`.
 */
export function commandsOf(command: CommandUnknownOpts): CommandUnknownOpts[] {
  return new Help().visibleCommands(command).filter((each) => command.commands.includes(each));
}
