import { didYouMean } from '../text/nearest.ts';
import { CELL_FIELDS, type CellFields, type FieldValue } from './matrix.ts';

/**
 * The language that selects cells: `--filter`, `exclude`, and cells named on a command line.
 *
 *     expression = and { "|" and }
 *     and        = unary { [ "&" ] unary }
 *     unary      = "!" unary | "(" expression ")" | comparison | word { "," word }
 *     comparison = field ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value { "," value }
 *
 * A value may be quoted, and `*` in it matches any text. `a=1,2` is true for either value, `a!=1,2` for neither. A word
 * is one of a cell in tables (`fp8`, `b8`, `no-graph`), a part of the name of a model, or the start of a key.
 */
export type Filter = (cell: CellFields) => boolean;

type FilterReading =
  | { readonly kind: 'filter'; readonly filter: Filter }
  /** `offset` in characters, 0-based. */
  | { readonly kind: 'faulty'; readonly offset: number; readonly problem: string };

interface Token {
  readonly kind: 'word' | 'quoted' | 'operator' | 'end';
  readonly text: string;
  readonly offset: number;
}

const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*"|'[^']*')|(!=|<=|>=|[=<>&|!(),])|([^\s=<>&|!(),"']+))/y;
const COMPARISONS = ['=', '!=', '<', '<=', '>', '>='] as const;

/** Matches a word that may be the start of a key. */
const KEY_START = /^[0-9a-f]{4,}$/;

class FilterFault extends Error {
  readonly offset: number;

  constructor(problem: string, offset: number) {
    super(problem);
    this.offset = offset;
  }
}

/** The possible words of a field; those of other fields are unknown. */
export type FieldWords = ReadonlyMap<string, readonly string[]>;

/** @param cells all cells; a field or word that none of them has is an error */
export function readFilter(
  expression: string,
  cells: readonly CellFields[],
  wordsOf: FieldWords = new Map(),
): FilterReading {
  try {
    const parser = new FilterParser(tokenize(expression), cells, wordsOf);
    return { kind: 'filter', filter: parser.whole() };
  } catch (error) {
    if (!(error instanceof FilterFault)) throw error;
    return { kind: 'faulty', offset: error.offset, problem: error.message };
  }
}

function tokenize(expression: string): Token[] {
  const tokens: Token[] = [];
  const text = expression.trimEnd();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const start = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (match === null) throw new FilterFault('a quote is not closed', start);
    const [whole, quoted, operator, word] = match;
    const token = quoted ?? operator ?? word ?? '';
    const offset = start + whole.length - token.length;
    if (quoted !== undefined) {
      tokens.push({ kind: 'quoted', text: quoted.slice(1, -1).replace(/\\(.)/g, '$1'), offset });
    } else tokens.push({ kind: operator === undefined ? 'word' : 'operator', text: token, offset });
  }
  tokens.push({ kind: 'end', text: 'the end', offset: text.length });
  return tokens;
}

class FilterParser {
  private readonly tokens: readonly Token[];
  private readonly cells: readonly CellFields[];
  private readonly known: readonly string[];
  private readonly wordsOf: FieldWords;
  private at = 0;

  constructor(tokens: readonly Token[], cells: readonly CellFields[], wordsOf: FieldWords) {
    this.tokens = tokens;
    this.cells = cells;
    this.wordsOf = wordsOf;
    this.known = [...new Set([...CELL_FIELDS, ...wordsOf.keys(), ...cells.flatMap(({ names }) => names)])];
  }

  whole(): Filter {
    const filter = this.expression();
    const rest = this.peek();
    if (rest.kind !== 'end') {
      throw new FilterFault(`"&" or "|" is needed before "${rest.text}"`, rest.offset);
    }
    return filter;
  }

  private expression(): Filter {
    const parts = [this.conjunction()];
    while (this.takeOperator('|')) parts.push(this.conjunction());
    return (cell) => parts.some((part) => part(cell));
  }

  private conjunction(): Filter {
    const parts = [this.unary()];
    while (this.takeOperator('&') || this.beginsTerm()) parts.push(this.unary());
    return (cell) => parts.every((part) => part(cell));
  }

  private unary(): Filter {
    if (this.takeOperator('!')) {
      const inner = this.unary();
      return (cell) => !inner(cell);
    }
    if (this.takeOperator('(')) {
      const inner = this.expression();
      if (!this.takeOperator(')')) throw new FilterFault('a ")" is missing', this.peek().offset);
      return inner;
    }
    const term = this.next();
    if (term.kind !== 'word' && term.kind !== 'quoted') {
      throw new FilterFault(`a word or a field is needed, not ${term.text}`, term.offset);
    }
    return isComparison(this.peek()) ? this.comparison(term) : this.words(term);
  }

  private beginsTerm(): boolean {
    const { kind, text } = this.peek();
    return kind === 'word' || kind === 'quoted' || text === '(' || text === '!';
  }

  /**
   * Words separated by commas match if any of them does. They may also be one word, such as the shapes of several
   * inputs.
   */
  private words(first: Token): Filter {
    const terms = [first];
    while (this.takeComma(terms.map(({ text }) => text).join(','))) terms.push(this.next());
    const whole = terms.map(({ text }) => text).join(',');
    if (terms.length > 1 && this.cells.some(({ words }) => words.includes(whole.toLowerCase()))) {
      return this.word({ ...first, text: whole });
    }
    const filters = terms.map((term) => this.word(term));
    return (cell) => filters.some((filter) => filter(cell));
  }

  private word({ text, offset }: Token): Filter {
    const word = text.toLowerCase();
    if (this.cells.some(({ words }) => words.includes(word))) return ({ words }) => words.includes(word);
    const hasKey = ({ values }: CellFields): boolean => String(values.get('key') ?? '').startsWith(word);
    if (KEY_START.test(word) && this.cells.some(hasKey)) return hasKey;
    const inModel = ({ values }: CellFields): boolean =>
      isEqual(String(values.get('model')).toLowerCase(), `*${word}*`);
    if (this.cells.some(inModel)) return inModel;
    const isField = this.known.includes(text);
    const operators = COMPARISONS.join(' ');
    const known = [...new Set(this.cells.flatMap(({ words }) => words))];
    throw isField
      ? new FilterFault(`one of ${operators} is needed after "${text}"`, this.peek().offset)
      : new FilterFault(`no cell has "${text}"${didYouMean(text, [...known, ...this.known])}`, offset);
  }

  private comparison(field: Token): Filter {
    if (!this.known.includes(field.text)) {
      const hint = didYouMean(field.text, this.known) || ` (known: ${this.known.join(', ')})`;
      throw new FilterFault(`unknown field "${field.text}"${hint}`, field.offset);
    }
    const operator = this.next().text;
    const comparison = COMPARISONS.find((word) => word === operator) ?? '=';
    const values = [this.value(field.text, comparison)];
    while (this.takeComma(`${field.text}${comparison}${values.join(',')}`)) {
      values.push(this.value(field.text, comparison));
    }
    // Some values contain commas: `memPoolSize=workspace:1GiB,dlaSRAM:1MiB`.
    return compare(field.text, comparison, values.length > 1 ? [...values, values.join(',')] : values);
  }

  private value(field: string, operator: (typeof COMPARISONS)[number]): string {
    const { kind, offset, text } = this.next();
    if (kind !== 'word' && kind !== 'quoted') {
      throw new FilterFault(`a value is needed, not ${text}`, offset);
    }
    const isEquality = operator === '=' || operator === '!=';
    if (!isEquality && (text.trim() === '' || !Number.isFinite(Number(text)))) {
      throw new FilterFault(`${operator} compares numbers, and "${text}" is not a number`, offset);
    }
    const words = this.wordsOf.get(field);
    if (words !== undefined && !text.includes('*') && !words.includes(text)) {
      throw new FilterFault(
        `"${text}" is not a value of ${field}${didYouMean(text, words)} (known: ${words.join(', ')})`,
        offset,
      );
    }
    if (SWITCHES.includes(field) && !SWITCH_WORDS.includes(text.toLowerCase())) {
      throw new FilterFault(`${field} is on or off, not "${text}"`, offset);
    }
    return text;
  }

  /** @param before text in front of the comma */
  private takeComma(before: string): boolean {
    const { offset } = this.peek();
    if (!this.takeOperator(',')) return false;
    const field = this.peek().text;
    const comparison = this.peek(1);
    if (!isComparison(comparison)) return true;
    throw new FilterFault(
      `"," separates values of one field: "&" joins conditions, as in ${before} & ${field}${comparison.text}…`,
      offset,
    );
  }

  private peek(ahead = 0): Token {
    return this.tokens[this.at + ahead] ?? { kind: 'end', text: 'the end', offset: 0 };
  }

  private next(): Token {
    const token = this.peek();
    if (token.kind !== 'end') this.at += 1;
    return token;
  }

  private takeOperator(text: string): boolean {
    const token = this.peek();
    if (token.kind !== 'operator' || token.text !== text) return false;
    this.at += 1;
    return true;
  }
}

function isComparison({ kind, text }: Token): boolean {
  return kind === 'operator' && COMPARISONS.some((word) => word === text);
}

function compare(field: string, operator: (typeof COMPARISONS)[number], values: readonly string[]): Filter {
  const isAny = ({ values: has }: CellFields): boolean => values.some((value) => isEqual(has.get(field), value));
  if (operator === '=') return isAny;
  if (operator === '!=') return (cell) => !isAny(cell);
  return ({ values: has }) => {
    const actual = Number(has.get(field));
    return values.some((value) => ORDERS[operator](actual, Number(value)));
  };
}

const ORDERS = {
  '<': (actual: number, value: number) => actual < value,
  '<=': (actual: number, value: number) => actual <= value,
  '>': (actual: number, value: number) => actual > value,
  '>=': (actual: number, value: number) => actual >= value,
};

const SWITCHES = ['cudaGraph', 'dataTransfers', 'spinWait'];
const TRUE_WORDS = ['on', 'true', 'yes', '1'];
const SWITCH_WORDS = [...TRUE_WORDS, 'off', 'false', 'no', '0'];

function isEqual(actual: FieldValue | undefined, value: string): boolean {
  if (actual === undefined) return false;
  if (Array.isArray(actual)) return actual.some((one) => isEqual(one, value));
  if (typeof actual === 'boolean') return TRUE_WORDS.includes(value.toLowerCase()) === actual;
  if (typeof actual === 'number' && value.trim() !== '' && Number(value) === actual) return true;
  if (!value.includes('*')) return String(actual) === value;
  const pattern = value.split('*').map(escapePattern).join('.*');
  return new RegExp(`^${pattern}$`, 's').test(String(actual));
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
