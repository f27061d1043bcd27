import type { CommandUnknownOpts as Program } from '@commander-js/extra-typings';
import type { Io } from '../../cli/io.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { didYouMean } from '../../text/nearest.ts';
import { printable } from '../../text/printable.ts';
import { shellLine } from '../../text/shell-quote.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import { lookUp } from './look-up.ts';
import { SCRIPTS, type Shell, SHELLS } from './scripts.ts';
import { type Candidate, wantedAfter } from './wanted.ts';

/** @param program command line of this bench */
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
 * `bench completion --complete SHELL -- …`: candidates at the cursor, one a line. The script asks it: from bash
 * it gets the line and its word breaks, from the others the words.
 */
export async function complete(program: Program, shell: Shell, words: readonly string[], io: Io): Promise<ExitCode> {
  const lines = await (shell === 'bash' ? forBash(program, words, io) : forWords(program, words, io));
  if (lines.length > 0) io.out(`${lines.join('\n')}\n`);
  return EXIT_CODES.fine;
}

async function forBash(program: Program, [line = '', breaks = '']: readonly string[], io: Io): Promise<string[]> {
  const { current, words } = readTypedLine(line, breaks);
  if (current === null) return [];
  // Variables may be set before the program's name.
  const start = words.findIndex((word) => !/^\w+=/.test(word));
  if (start === -1) return [];
  const found = await candidates(program, words.slice(start + 1), current.text, io);
  return found
    .filter(({ value }) => value.startsWith(current.text))
    .flatMap(({ value }) => insertable(value, current) ?? []);
}

async function forWords(program: Program, words: readonly string[], io: Io): Promise<string[]> {
  const found = await candidates(program, words.slice(1, -1), words.at(-1) ?? '', io);
  return found.map(({ meaning, value }) => (meaning === '' ? value : `${value}\t${printable(meaning)}`));
}

/** Without those that are unsafe to print: they can be named by their keys. */
async function candidates(program: Program, words: readonly string[], typed: string, io: Io): Promise<Candidate[]> {
  const { db, fixed, kinds, prefix } = wantedAfter(program, words, typed);
  const begun = typed.slice(prefix.length);
  const lookedUp = await Promise.all(kinds.map((kind) => lookUp(kind, begun, db, program, io)));
  const all = [...fixed, ...lookedUp.flat()];
  const safe = all.filter(({ value }) => value !== '' && printable(value) === value);
  const once = new Map(safe.map((each) => [each.value, each]));
  return [...once.values()].map(({ meaning, value }) => ({ value: `${prefix}${value}`, meaning }));
}

/** The word at the cursor, up to the cursor. */
interface TypedWord {
  readonly text: string;
  readonly quote: '"' | "'" | null;
  /** How much of the text is before the place from which the shell replaces. */
  readonly kept: number;
}

/** It, while it is read. */
interface OpenWord {
  text: string;
  quote: '"' | "'" | null;
  kept: number;
  isStarted: boolean;
  isEscaped: boolean;
  /** A quote that is elsewhere than at the very beginning, or was closed. */
  isMixed: boolean;
}

/**
 * Splits what was typed so far as bash does, as far as no variable or command in it would have to be evaluated. The word
 * at the cursor is null when it is written in a way that nothing can be put behind it.
 * @param breaks `$COMP_WORDBREAKS`: bash replaces from behind the last of these
 */
export function readTypedLine(line: string, breaks: string) {
  const words: string[] = [];
  let word = newWord();
  for (const character of line) {
    if (word.quote === null && !word.isEscaped && /\s/.test(character)) {
      if (word.isStarted) words.push(word.text);
      word = newWord();
    } else {
      take(word, character, breaks);
      word.isStarted = true;
    }
  }
  const { text, quote, kept } = word;
  return { words, current: word.isMixed || word.isEscaped ? null : { text, quote, kept } };
}

function newWord(): OpenWord {
  return { text: '', quote: null, kept: 0, isStarted: false, isEscaped: false, isMixed: false };
}

function take(word: OpenWord, character: string, breaks: string): void {
  const { quote } = word;
  if (word.isEscaped) {
    word.isEscaped = false;
    // Inside of double quotes a backslash escapes only these.
    word.text += quote === '"' && !/["$`\\\n]/.test(character) ? `\\${character}` : character;
  } else if (character === '\\' && quote !== "'") word.isEscaped = true;
  else if (character === quote) {
    word.quote = null;
    word.isMixed = true;
  } else if (quote === null && (character === '"' || character === "'")) {
    word.isMixed ||= word.isStarted;
    word.quote = character;
  } else {
    word.text += character;
    if (quote === null && breaks.includes(character)) word.kept = word.text.length;
  }
}

/**
 * A value quoted for the cursor position; null when it cannot be written there. Nothing in it is ever evaluated: no
 * `$`, backquote or `!`.
 */
export function insertable(value: string, { kept, quote }: TypedWord): string | null {
  if (quote === "'") return value.includes("'") ? null : value;
  if (quote === '"') return /["$`\\!]/.test(value) ? null : value;
  // A tilde means a home only at the start of a word.
  return value.slice(kept).replaceAll(/(?<![\p{L}\p{N}])~|[^\p{L}\p{N}_@%+=:,./~-]/gu, String.raw`\$&`);
}
