import { commandNamed, defineCommand, helpText } from '../../cli/define-command.ts';
import { printLines } from '../../cli/io.ts';
import { EXIT_CODES } from '../../exit-codes.ts';

export const helpCommand = defineCommand({
  name: 'help',
  summary: 'show help on a command, a metric or a term',
  examples: [
    'bench help                # all commands and topics',
    'bench help compare',
    'bench help p99            # what a metric means, and its caveats',
    'bench help exit-codes',
  ],
  isPlain: true,
  define: (command) => command.arguments('[topic...]'),
  run: async ([topic], _options, io, program) => {
    const command = commandNamed(program, topic);
    if (command === null) {
      const text = topic.length === 0 ? undefined : topic.join(' ');
      return (await import('./help.ts')).writeHelp(text, program, io);
    }
    io.out(helpText(command));
    const { wordRow } = await import('./help.ts');
    const row = wordRow(topic.join(' '), io.look);
    if (row !== null) printLines(io, ['', ...row]);
    return EXIT_CODES.fine;
  },
});
