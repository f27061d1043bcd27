import type { CommandInfo } from '../../cli/command-info.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { printable } from '../../text/printable.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import { didYouMean } from '../../text/nearest.ts';
import { shellLine } from '../../text/shell-quote.ts';
import { lookUp } from './look-up.ts';
import { SCRIPTS, type Shell, SHELLS } from './scripts.ts';
import { insertable, readTypedLine } from './typed-line.ts';
import { type Candidate, wantedAfter } from './wanted.ts';
import type { Io } from '../../cli/io.ts';

/**
 * `bench completion SHELL`: a script for the shell.
 * @param program how this bench is started
 */
export function completion(shell: string, program: readonly string[], io: Io): Promise<ExitCode> {
  if (!isOneOf(SHELLS, shell)) {
    throw new UsageError(
      `no completion for ${printable(shell)} (there is ${SHELLS.join(', ')})${didYouMean(shell, SHELLS)}`,
    );
  }
  io.out(SCRIPTS[shell].replaceAll('PROGRAM', () => shellLine(program)));
  return Promise.resolve(EXIT_CODES.fine);
}

/**
 * `bench completion --complete SHELL -- …`: what may stand at the cursor, one a line. The script asks it: from bash
 * it gets the line and its word breaks, from the others the words.
 */
export async function complete(tree: CommandInfo, shell: Shell, words: readonly string[], io: Io): Promise<ExitCode> {
  const lines = await (shell === 'bash' ? forBash(tree, words, io) : forWords(tree, words, io));
  if (lines.length > 0) io.out(`${lines.join('\n')}\n`);
  return EXIT_CODES.fine;
}

async function forBash(tree: CommandInfo, [line = '', breaks = '']: readonly string[], io: Io): Promise<string[]> {
  const { current, words } = readTypedLine(line, breaks);
  if (current === null) return [];
  // Variables may be set before the program's name.
  const start = words.findIndex((word) => !/^\w+=/.test(word));
  if (start === -1) return [];
  const found = await candidates(tree, words.slice(start + 1), current.text, io);
  return found
    .filter(({ value }) => value.startsWith(current.text))
    .flatMap(({ value }) => insertable(value, current) ?? []);
}

/** zsh and fish match and quote by themselves. */
async function forWords(tree: CommandInfo, words: readonly string[], io: Io): Promise<string[]> {
  const found = await candidates(tree, words.slice(1, -1), words.at(-1) ?? '', io);
  return found.map(({ meaning, value }) => (meaning === '' ? value : `${value}\t${printable(meaning)}`));
}

/** Without those that would look like something else on a terminal: they can be named by their keys. */
async function candidates(tree: CommandInfo, words: readonly string[], typed: string, io: Io): Promise<Candidate[]> {
  const { db, fixed, kinds, prefix } = wantedAfter(tree, words, typed);
  const begun = typed.slice(prefix.length);
  const lookedUp = await Promise.all(kinds.map((kind) => lookUp(kind, begun, db, io)));
  const all = [...fixed, ...lookedUp.flat()];
  const safe = all.filter(({ value }) => value !== '' && printable(value) === value);
  const once = new Map(safe.map((each) => [each.value, each]));
  return [...once.values()].map(({ meaning, value }) => ({ value: `${prefix}${value}`, meaning }));
}
