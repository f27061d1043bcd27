import { commandNamed, helpText } from '../../cli/command-tree.ts';
import { defineCommand } from '../../cli/define-command.ts';
import { EXIT_CODES } from '../../exit-codes.ts';

export const helpCommand = defineCommand({
  name: 'help',
  summary: 'help on a command, a number, or the words that bench uses',
  examples: [
    'bench help                # what there is help on',
    'bench help compare',
    'bench help p99Ms          # what a number says, and when it deceives',
    'bench help exit-codes',
  ],
  isPlain: true,
  define: (command) => command.arguments('[topic...]'),
  run: async ([topic], _options, io, program) => {
    const command = commandNamed(program, topic);
    if (command === null) {
      const text = topic.length === 0 ? undefined : topic.join(' ');
      return (await import('./help.ts')).help(text, program, io);
    }
    io.out(helpText(command));
    return EXIT_CODES.fine;
  },
});
