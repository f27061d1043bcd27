import { printable } from './printable.ts';

const PLAIN = /^[\w@%+=:,./~^-]+$/;

/**
 * One argument as a POSIX shell reads it back. What a terminal would act on is written in bash's `$'…'`, so that
 * none of it is printed raw.
 */
export function shellQuote(argument: string): string {
  if (PLAIN.test(argument)) return argument;
  if (printable(argument) === argument) return `'${argument.replaceAll("'", String.raw`'\''`)}'`;
  return `$'${Array.from(argument, escapeCharacter).join('')}'`;
}

function escapeCharacter(character: string): string {
  if (character === '\\' || character === "'") return `\\${character}`;
  if (printable(character) === character) return character;
  return [...Buffer.from(character)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
}

/** A command line that can be copied into a shell. It is for people: nothing here is ever given to one. */
export function shellLine(argv: readonly string[]): string {
  return argv.map(shellQuote).join(' ');
}

/** `NAME=1 ` before a command line; a variable that is taken away is named as a shell would. */
export function envText(env: Readonly<Record<string, string | null>>): string {
  const entries = Object.entries(env);
  const set = entries.flatMap(([name, value]) => (value === null ? [] : [`${name}=${shellQuote(value)}`]));
  const gone = entries.flatMap(([name, value]) => (value === null ? ['-u', name] : []));
  if (gone.length > 0) return `env ${[...gone, ...set].join(' ')} `;
  return set.map((each) => `${each} `).join('');
}
