import { join } from 'node:path';

import { type Command, Option } from 'commander';

import { isOneOf } from '../text/unknown-values.ts';
import { SHELLS } from '../features/completion/scripts.ts';
import { commandTree, helpText } from '../cli/command-tree.ts';
import type { Execute } from '../cli/execute.ts';
import { packageFolder } from '../cli/store-location.ts';

/** What tells of the other commands. They are read from the command line itself, so this comes last. */
export function addHelpCommands(program: Command, run: Execute): void {
  program
    .helpCommand(false)
    .command('help [topic...]')
    .description('help on a command, a number, or the words that bench uses')
    .addHelpText(
      'after',
      '\nExamples:\n  $ bench help                # what there is help on\n  $ bench help compare\n  $ bench help p99Ms          # what a number says, and when it deceives\n  $ bench help exit-codes\n  $ bench help man | man -l -',
    )
    .action(async (topic: string[]) => {
      const command = commandNamed(program, topic);
      await run({}, async (io) => {
        if (command !== null) {
          io.out(helpText(command));
          return 0;
        }
        const text = topic.length === 0 ? undefined : topic.join(' ');
        return (await import('./help-bundle.ts')).help(text, commandTree(program), io);
      });
    });

  program
    .command('completion')
    .argument('<shell>', SHELLS.join(', '))
    .argument('[words...]', 'for the scripts themselves')
    .usage('<shell>')
    .description('a script that completes command lines of bench: bash, zsh or fish')
    .addOption(new Option('--complete', 'what may stand at the cursor').hideHelp())
    .addHelpText(
      'after',
      '\nExamples:\n  $ eval "$(bench completion bash)"            # in ~/.bashrc\n  $ eval "$(bench completion zsh)"             # in ~/.zshrc\n  $ bench completion fish | source             # in ~/.config/fish/config.fish',
    )
    .action(async (shell: string, words: string[], { complete }: { complete?: boolean }) => {
      await run({}, async (io) => {
        const commands = await import('./help-bundle.ts');
        if (complete === true && isOneOf(SHELLS, shell)) {
          return commands.complete(commandTree(program), shell, words, io);
        }
        const started = [process.execPath, join(packageFolder(), 'bin', 'bench.js')];
        return commands.completion(shell, started, io);
      });
    });
}

/** `baseline set` as a command; null when the words are no command. */
function commandNamed(program: Command, words: readonly string[]): Command | null {
  let command = program;
  for (const word of words) {
    const inner = command.commands.find((each) => each.name() === word);
    if (inner === undefined) return null;
    command = inner;
  }
  return words.length === 0 ? null : command;
}
