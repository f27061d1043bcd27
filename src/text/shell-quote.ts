import { printable, UNSAFE } from './printable.ts';

const PLAIN = /^[\w@%+=:,./^-][\w@%+=:,./~^-]*$/;

/**
 * Quotes one argument for any POSIX shell. Line ends stay, and `printf` makes any other character that a terminal would
 * act on. A script with it can be read and printed safely.
 */
export function scriptQuote(text: string): string {
  if (PLAIN.test(text)) return text;
  if (text === '') return "''";
  const quoted = text.split(UNPRINTABLE).map((part, place) => {
    if (place % 2 === 1) return `"$(printf '${octal(part)}')"`;
    return part === '' ? '' : `'${part.replaceAll("'", String.raw`'\''`)}'`;
  });
  return quoted.join('');
}

/** Captures characters on which a terminal acts, without line ends. */
const UNPRINTABLE = new RegExp(`((?:(?!\\n)${UNSAFE.source})+)`);

/** Quotes an argument on one line: with line ends, it uses bash's `$'…'`. */
export function shellQuote(argument: string): string {
  if (!argument.includes('\n')) return scriptQuote(argument);
  const escaped = Array.from(argument, (character) => {
    if (character === '\\' || character === "'") return `\\${character}`;
    if (printable(character) === character) return character;
    return [...Buffer.from(character)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
  });
  return `$'${escaped.join('')}'`;
}

function octal(text: string): string {
  return [...Buffer.from(text)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}

/** A command line for people to copy into a shell. bench never passes one to a shell. */
export function shellLine(argv: readonly string[]): string {
  return argv.map(shellQuote).join(' ');
}

/** `NAME=1 ` before a command line; for variables to unset, `env -u NAME `. */
export function envText(env: Readonly<Record<string, string | null>>): string {
  const entries = Object.entries(env);
  const set = entries.flatMap(([name, value]) => (value === null ? [] : [`${name}=${shellQuote(value)}`]));
  const gone = entries.flatMap(([name, value]) => (value === null ? ['-u', name] : []));
  if (gone.length > 0) return `env ${[...gone, ...set].join(' ')} `;
  return set.map((each) => `${each} `).join('');
}

/** A line that sets a variable of a script to a default, unless the environment has a value. */
export function defaultOf(variable: string, value: string): string {
  return `[ -n "\${${variable}-}" ] || ${variable}=${scriptQuote(value)}`;
}

const NOT_TEXT = /^(?:true|false|null|yes|no|on|off|y|n)$/i;

/** A name or path on one line: plain if YAML reads it back unchanged, else in double quotes. */
export function yamlText(text: string): string {
  const isPlain = (/^[A-Za-z_][\w./-]*$/.test(text) || /^\.{0,2}\/[\w./-]+$/.test(text)) && !NOT_TEXT.test(text);
  // Also escapes characters that JSON allows but YAML does not in quotes.
  return isPlain ? text : printable(JSON.stringify(text));
}
