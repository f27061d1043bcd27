import { printable } from './printable.ts';

const PLAIN = /^[\w@%+=:,./^-][\w@%+=:,./~^-]*$/;

/**
 * One argument for any POSIX shell: line ends stay as they are, any other character that a terminal would act on is
 * made by `printf`. A script with it can be read and printed without harm.
 */
export function scriptQuote(text: string): string {
  if (PLAIN.test(text)) return text;
  if (text === '') return "''";
  return parts(text)
    .map((part) => (isSafe(part) ? `'${part.replaceAll("'", String.raw`'\''`)}'` : `"$(printf '${octal(part)}')"`))
    .join('');
}

/** The same on one line: an argument with line ends is written in bash's `$'…'`. */
export function shellQuote(argument: string): string {
  if (!argument.includes('\n')) return scriptQuote(argument);
  const escaped = Array.from(argument, (character) => {
    if (character === '\\' || character === "'") return `\\${character}`;
    if (printable(character) === character) return character;
    return [...Buffer.from(character)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
  });
  return `$'${escaped.join('')}'`;
}

/** Alternates printable and unprintable parts. */
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

/** A command line to copy into a shell. For people: nothing is ever passed to one. */
export function shellLine(argv: readonly string[]): string {
  return argv.map(shellQuote).join(' ');
}

/** `NAME=1 ` before a command line; a variable to unset is named as a shell would. */
export function envText(env: Readonly<Record<string, string | null>>): string {
  const entries = Object.entries(env);
  const set = entries.flatMap(([name, value]) => (value === null ? [] : [`${name}=${shellQuote(value)}`]));
  const gone = entries.flatMap(([name, value]) => (value === null ? ['-u', name] : []));
  if (gone.length > 0) return `env ${[...gone, ...set].join(' ')} `;
  return set.map((each) => `${each} `).join('');
}

/** A variable of a script with a default; a value from the environment wins. */
export function defaultOf(variable: string, value: string): string {
  return `[ -n "\${${variable}-}" ] || ${variable}=${scriptQuote(value)}`;
}

const NOT_TEXT = /^(?:true|false|null|yes|no|on|off|y|n)$/i;

/** A name or path on one line: plain where YAML reads it back, else in double quotes. */
export function yamlText(text: string): string {
  const isPlain = (/^[A-Za-z_][\w./-]*$/.test(text) || /^\.{0,2}\/[\w./-]+$/.test(text)) && !NOT_TEXT.test(text);
  // Escapes what JSON leaves raw and YAML does not take inside of quotes.
  return isPlain ? text : printable(JSON.stringify(text));
}
