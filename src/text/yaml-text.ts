import { printable } from './printable.ts';

const NOT_TEXT = /^(?:true|false|null|yes|no|on|off|y|n)$/i;

/** A name or path on one line: plain if YAML reads it back unchanged, else in double quotes. */
export function yamlText(text: string): string {
  const isPlain = (/^[A-Za-z_][\w./-]*$/.test(text) || /^\.{0,2}\/[\w./-]+$/.test(text)) && !NOT_TEXT.test(text);
  // Also escapes characters that JSON allows but YAML does not in quotes.
  return isPlain ? text : printable(JSON.stringify(text));
}
