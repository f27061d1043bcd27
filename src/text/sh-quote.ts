import { printable } from './printable.ts';

const PLAIN = /^[\w@%+=:,./-]+$/;

/**
 * One argument for any POSIX shell, in which `$'…'` is not known: line ends stay as they are, any other character that
 * a terminal would act on is made by `printf`. A script with it can be read and printed without harm.
 */
export function shQuote(text: string): string {
  if (PLAIN.test(text)) return text;
  if (text === '') return "''";
  return parts(text)
    .map((part) => (isSafe(part) ? `'${part.replaceAll("'", String.raw`'\''`)}'` : `"$(printf '${octal(part)}')"`))
    .join('');
}

/** Text in turns of what may be shown and what may not. */
function parts(text: string): string[] {
  const found: string[] = [];
  for (const character of text) {
    const last = found.at(-1);
    if (last !== undefined && isSafe(last) === isSafe(character)) {
      found[found.length - 1] = last + character;
    } else found.push(character);
  }
  return found;
}

function isSafe(text: string): boolean {
  return text.split('\n').every((line) => printable(line) === line);
}

function octal(text: string): string {
  return [...Buffer.from(text)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}

/** A variable of a script with a value of its own; what is set from outside stays. */
export function defaultOf(variable: string, value: string): string {
  return `[ -n "\${${variable}-}" ] || ${variable}=${shQuote(value)}`;
}
