import { printable } from '../text/printable.ts';

/** HTML that is safe to print. `markup` makes it and escapes every value. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Part = Markup | string | number | null | readonly Part[];

/** HTML template tag. Escapes texts but not markup; `null` is empty. Attributes must be quoted. */
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
  if (typeof part === 'string') return printable(part).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
  if (typeof part === 'number') return String(part);
  return part.map(htmlOf).join('');
}

export interface HtmlColumn<Row> {
  readonly header: string;
  readonly show: (row: Row) => Part;
  /** CSS class of its cells. */
  readonly kind?: string;
}

/**
 * A table that scrolls separately on a narrow page. The column of the kind `name`, else the first, names the rows.
 * @param attributesOf attributes of a row, after a blank
 */
export function htmlTable<Row>(
  label: string,
  columns: readonly HtmlColumn<Row>[],
  rows: readonly Row[],
  attributesOf: (row: Row) => Markup | null = () => null,
): Markup {
  const naming = columns.find(({ kind }) => kind === 'name') ?? columns[0];
  const heads = columns.map(({ header, kind = '' }) => markup`<th scope="col" class="${kind}">${header}</th>`);
  const body = rows.map((row) => {
    const cells = columns.map((column) => {
      const { kind = '', show } = column;
      return column === naming
        ? markup`<th scope="row">${show(row)}</th>`
        : markup`<td class="${kind}">${show(row)}</td>`;
    });
    return markup`<tr${attributesOf(row)}>${cells}</tr>\n`;
  });
  return markup`<div class="wide" tabindex="0" role="region" aria-label="${label}"><table><caption>${label}</caption>
<thead><tr>${heads}</tr></thead>
<tbody>${body}</tbody></table></div>`;
}

/** Limit for names in tables; only malicious ones are longer. */
const LONGEST_TEXT = 120;

export function shortened(text: string, longest = LONGEST_TEXT): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`;
}

/** The first eight digits of an ID, which suffice in commands. */
export function shortRef(ref: string): string {
  return /^[0-9a-f]{9,64}$/.test(ref) ? ref.slice(0, 8) : shortened(ref, 60);
}

/** More digits than are displayed. */
const DIGITS = 6;

function shown(_: string, value: unknown): unknown {
  if (typeof value === 'string') return printable(value);
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(DIGITS)) : value;
}

/**
 * JSON for a `<script>` element, which can neither end the element nor begin a comment. Numbers have six digits, and
 * texts have no hidden characters.
 */
export function scriptJson(value: unknown): Markup {
  return new Markup(JSON.stringify(value, shown).replaceAll('<', '\\u003c'));
}
