import { didYouMean } from '../text/nearest.ts';
import { CELL_FIELDS, type CellFields, cellFields, type FieldValue, type MatrixCell } from './matrix.ts';

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

const TRUE_WORDS = ['on', 'true', 'yes', '1'];
const SWITCH_WORDS = [...TRUE_WORDS, 'off', 'false', 'no', '0'];
const SWITCHES = ['cudaGraph', 'dataTransfers', 'spinWait'].map((name) => [name, SWITCH_WORDS] as const);

/** @param cells all cells; a field or word that none of them has is an error */
export function readFilter(expression: string, cells: readonly CellFields[], wordsOf: FieldWords = new Map()) {
  try {
    const filter = parsed(tokenize(expression), cells, new Map([...SWITCHES, ...wordsOf]));
    return { kind: 'filter' as const, filter };
  } catch (error) {
    if (!(error instanceof FilterFault)) throw error;
    /** `offset` in characters, 0-based. */
    return { kind: 'faulty' as const, offset: error.offset, problem: error.message };
  }
}

function fieldsOf({ cell, dimensions }: MatrixCell): CellFields {
  return cellFields(cell, dimensions);
}

/** The cells that an expression selects. */
export function selectCells(expression: string, cells: readonly MatrixCell[]) {
  const reading = readFilter(expression, cells.map(fieldsOf));
  if (reading.kind === 'faulty') return reading;
  return { kind: 'cells' as const, cells: cells.filter((entry) => reading.filter(fieldsOf(entry))) };
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

/** @throws FilterFault */
function parsed(tokens: readonly Token[], cells: readonly CellFields[], wordsOf: FieldWords): Filter {
  const known = [...new Set([...CELL_FIELDS, ...wordsOf.keys(), ...cells.flatMap(({ names }) => names)])];
  let place = 0;
  const peek = (): Token => tokens[place] ?? { kind: 'end', text: 'the end', offset: 0 };
  const next = (): Token => {
    const token = peek();
    if (token.kind !== 'end') place += 1;
    return token;
  };
  const isNext = (...operators: readonly string[]): boolean =>
    peek().kind === 'operator' && operators.includes(peek().text);
  const takes = (operator: string): boolean => isNext(operator) && next() !== null;
  const isTerm = ({ kind }: Token): boolean => kind === 'word' || kind === 'quoted';
  const takesComma = (): boolean => {
    const after = tokens[place + 2];
    if (isNext(',') && after?.kind === 'operator' && COMPARISONS.some((word) => word === after.text)) {
      throw new FilterFault('"," separates values of one field: "&" joins conditions', peek().offset);
    }
    return takes(',');
  };

  const either = (): Filter => {
    const parts = [both()];
    while (takes('|')) parts.push(both());
    return (cell) => parts.some((part) => part(cell));
  };
  const both = (): Filter => {
    const parts = [unary()];
    while (takes('&') || isTerm(peek()) || isNext('(', '!')) parts.push(unary());
    return (cell) => parts.every((part) => part(cell));
  };
  const unary = (): Filter => {
    if (takes('!')) {
      const inner = unary();
      return (cell) => !inner(cell);
    }
    if (takes('(')) {
      const inner = either();
      if (!takes(')')) throw new FilterFault('a ")" is missing', peek().offset);
      return inner;
    }
    const term = next();
    if (!isTerm(term)) throw new FilterFault(`a word or a field is needed, not ${term.text}`, term.offset);
    return isNext(...COMPARISONS) ? comparison(term) : words(term);
  };
  // Words separated by commas may also be one word, such as the shapes of several inputs.
  const words = (first: Token): Filter => {
    const terms = [first];
    while (takesComma()) terms.push(next());
    const whole = terms.map(({ text }) => text).join(',');
    const isOne = cells.some((cell) => cell.words.includes(whole.toLowerCase()));
    const filters = isOne ? [word({ ...first, text: whole })] : terms.map(word);
    return (cell) => filters.some((filter) => filter(cell));
  };
  const word = ({ text, offset }: Token): Filter => {
    const wanted = text.toLowerCase();
    const hasWord = (cell: CellFields): boolean => cell.words.includes(wanted);
    const hasKey = ({ values }: CellFields): boolean =>
      KEY_START.test(wanted) && String(values.get('key') ?? '').startsWith(wanted);
    const inModel = ({ values }: CellFields): boolean =>
      isEqual(String(values.get('model')).toLowerCase(), `*${wanted}*`);
    const found = [hasWord, hasKey, inModel].find((has) => cells.some(has));
    if (found !== undefined) return found;
    const all = [...new Set(cells.flatMap((cell) => cell.words)), ...known];
    throw known.includes(text)
      ? new FilterFault(`one of ${COMPARISONS.join(' ')} is needed after "${text}"`, peek().offset)
      : new FilterFault(`no cell has "${text}"${didYouMean(text, all)}`, offset);
  };
  const comparison = ({ text: field, offset }: Token): Filter => {
    if (!known.includes(field)) {
      const hint = didYouMean(field, known) || ` (known: ${known.join(', ')})`;
      throw new FilterFault(`unknown field "${field}"${hint}`, offset);
    }
    const operator = next().text;
    const compared = COMPARISONS.find((each) => each === operator) ?? '=';
    const values = [value(field, compared)];
    while (takesComma()) values.push(value(field, compared));
    // Some values contain commas: `memPoolSize=workspace:1GiB,dlaSRAM:1MiB`.
    return compare(field, compared, values.length > 1 ? [...values, values.join(',')] : values);
  };
  const value = (field: string, operator: (typeof COMPARISONS)[number]): string => {
    const term = next();
    const { offset, text } = term;
    if (!isTerm(term)) throw new FilterFault(`a value is needed, not ${text}`, offset);
    const isEquality = operator === '=' || operator === '!=';
    if (!isEquality && (text.trim() === '' || !Number.isFinite(Number(text)))) {
      throw new FilterFault(`${operator} compares numbers, and "${text}" is not a number`, offset);
    }
    const allowed = wordsOf.get(field);
    if (allowed === undefined || text.includes('*') || allowed.includes(text.toLowerCase())) return text;
    const hint = didYouMean(text, allowed);
    throw new FilterFault(`"${text}" is not a value of ${field}${hint} (known: ${allowed.join(', ')})`, offset);
  };

  const filter = either();
  if (peek().kind === 'end') return filter;
  throw new FilterFault(`"&" or "|" is needed before "${peek().text}"`, peek().offset);
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

function isEqual(actual: FieldValue | undefined, value: string): boolean {
  // The word of a matrix for a variable that is not set.
  if (actual === undefined) return value === 'unset';
  if (Array.isArray(actual)) return actual.some((one) => isEqual(one, value));
  if (typeof actual === 'boolean') return TRUE_WORDS.includes(value.toLowerCase()) === actual;
  if (typeof actual === 'number' && value.trim() !== '' && Number(value) === actual) return true;
  if (!value.includes('*')) return String(actual) === value;
  const escaped = value.split('*').map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${escaped.join('.*')}$`, 's').test(String(actual));
}
