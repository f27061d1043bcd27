import type { CommandUnknownOpts } from '@commander-js/extra-typings';

import { commandsOf, helpText } from '../../cli/command-tree.ts';
import { EXIT_CODE_TEXTS } from './topic-pages.ts';

/** `bench help man > bench.1`: what --help says of every command, for man(1). */
export function manPage(program: CommandUnknownOpts): string[] {
  const commands = commandsOf(program).flatMap((command) => [command, ...commandsOf(command)]);
  return [
    `.TH BENCH 1 "" "trtbench ${program.version() ?? ''}" "TensorRT benchmarks"`,
    '.SH NAME',
    roff(`bench - ${program.description()}`),
    '.SH SYNOPSIS',
    roff('bench COMMAND [OPTIONS]'),
    '.SH COMMANDS',
    ...commands.flatMap((command) => [
      `.SS ${roff(wordsOf(command))}`,
      '.nf',
      ...helpText(command).trimEnd().split('\n').map(roff),
      '.fi',
    ]),
    '.SH EXIT STATUS',
    ...EXIT_CODE_TEXTS.flatMap(([code, text]) => ['.TP', `.B ${code}`, roff(text)]),
  ];
}

function wordsOf(command: CommandUnknownOpts): string {
  const group = command.parent;
  return group?.parent === null || group === null ? command.name() : `${group.name()} ${command.name()}`;
}

/** A line is text, whatever it begins with, and its hyphens can be searched and copied. */
function roff(line: string): string {
  return line
    .replaceAll('\\', String.raw`\e`)
    .replaceAll('-', String.raw`\-`)
    .replace(/^[.']/, String.raw`\&$&`);
}
