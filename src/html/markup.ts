import { printable } from '../text/printable.ts';

/** HTML that is safe to print: made by `markup`, which escapes whatever is put into it. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Markup | string | number | null | readonly Part[];

/** Puts values into HTML: texts are escaped, markup stays, `null` is nothing. Every attribute must be in quotes. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  const text = strings.reduce(
    (sum, literal, place) => sum + (place === 0 ? '' : htmlOf(parts[place - 1] ?? null)) + literal,
    '',
  );
  return new Markup(text);
}

function htmlOf(part: Part): string {
  if (part === null) return '';
  if (part instanceof Markup) return part.text;
  if (typeof part === 'string') return escapeHtml(part);
  if (typeof part === 'number') return String(part);
  return part.map(htmlOf).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return printable(text).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

/** Names are short, but for those that somebody made to do harm; a table shows no more than this of one. */
const LONGEST_TEXT = 120;

/** A name from outside as tables show it. */
export function shortened(text: string, longest = LONGEST_TEXT): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}

/** JSON that can stand in a `<script>` element: nothing in it ends the element, or begins a comment. */
export function scriptJson(value: unknown): Markup {
  return new Markup(
    JSON.stringify(value).replaceAll('<', '\\u003c').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029'),
  );
}
