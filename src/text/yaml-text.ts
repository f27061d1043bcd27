import { printable } from './printable.ts';

const NOT_TEXT = /^(?:true|false|null|yes|no|on|off|y|n)$/i;

/** A name or a path as YAML reads it back, on one line: plain where that is safe, else in double quotes. */
export function yamlText(text: string): string {
  const isPlain = (/^[A-Za-z_][\w./-]*$/.test(text) || /^\.{0,2}\/[\w./-]+$/.test(text)) && !NOT_TEXT.test(text);
  // What JSON leaves raw but YAML does not take inside of quotes is escaped as both know it.
  return isPlain ? text : printable(JSON.stringify(text));
}
