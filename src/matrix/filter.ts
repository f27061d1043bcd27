import { didYouMean } from '../text/nearest.ts';
import { type Cell, batchOf } from '../records/cell.ts';
import { NAMED_AXES, type NamedAxis, namedWords } from '../records/axis.ts';

/**
 * The one small language in which cells are chosen: `--filter`, `exclude`, and cells named on a command line.
 *
 *     expression = and { "|" and }
 *     and        = unary { "&" unary }
 *     unary      = "!" unary | "(" expression ")" | comparison
 *     comparison = field ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value { "," value }
 *
 * A value may be quoted; `*` in it matches any text. `a=1,2` is true for either, `a!=1,2` for neither.
 */
export type Filter = (fields: CellFields) => boolean;

export type CellFields = ReadonlyMap<string, string | number | boolean>;

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

class FilterFault extends Error {
  readonly offset: number;

  constructor(problem: string, offset: number) {
    super(problem);
    this.offset = offset;
  }
}

/** @param known all fields; a comparison with another is a fault */
export function readFilter(expression: string, known: readonly string[]): FilterReading {
  try {
    const parser = new FilterParser(tokenize(expression), known);
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
  private readonly known: readonly string[];
  private at = 0;

  constructor(tokens: readonly Token[], known: readonly string[]) {
    this.tokens = tokens;
    this.known = known;
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
    return (fields) => parts.some((part) => part(fields));
  }

  private conjunction(): Filter {
    const parts = [this.unary()];
    while (this.takeOperator('&')) parts.push(this.unary());
    return (fields) => parts.every((part) => part(fields));
  }

  private unary(): Filter {
    if (this.takeOperator('!')) {
      const inner = this.unary();
      return (fields) => !inner(fields);
    }
    if (this.takeOperator('(')) {
      const inner = this.expression();
      if (!this.takeOperator(')')) throw new FilterFault('a ")" is missing', this.peek().offset);
      return inner;
    }
    return this.comparison();
  }

  private comparison(): Filter {
    const field = this.next();
    if (field.kind !== 'word' && field.kind !== 'quoted') {
      throw new FilterFault(`a field is needed, not ${field.text}`, field.offset);
    }
    if (!this.known.includes(field.text)) {
      const hint = didYouMean(field.text, this.known) || ` (known: ${this.known.join(', ')})`;
      throw new FilterFault(`unknown field "${field.text}"${hint}`, field.offset);
    }
    const operator = this.next();
    const comparison = COMPARISONS.find((word) => word === operator.text);
    if (operator.kind !== 'operator' || comparison === undefined) {
      throw new FilterFault(`one of ${COMPARISONS.join(' ')} is needed after "${field.text}"`, operator.offset);
    }
    const values = [this.value(field.text, comparison)];
    while (this.takeOperator(',')) values.push(this.value(field.text, comparison));
    return compare(field.text, comparison, values);
  }

  private value(field: string, operator: (typeof COMPARISONS)[number]): string {
    const { kind, offset, text } = this.next();
    if (kind !== 'word' && kind !== 'quoted') {
      throw new FilterFault(`a value is needed, not ${text}`, offset);
    }
    const isEquality = operator === '=' || operator === '!=';
    if (!isEquality && (text.trim() === '' || !Number.isFinite(Number(text)))) {
      throw new FilterFault(`${operator} compares numbers, and "${text}" is none`, offset);
    }
    if (SWITCHES.includes(field) && !SWITCH_WORDS.includes(text.toLowerCase())) {
      throw new FilterFault(`${field} is on or off, not "${text}"`, offset);
    }
    return text;
  }

  private peek(): Token {
    return this.tokens[this.at] ?? { kind: 'end', text: 'the end', offset: 0 };
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

function compare(field: string, operator: (typeof COMPARISONS)[number], values: readonly string[]): Filter {
  if (operator === '=') return (fields) => values.some((value) => isEqual(fields.get(field), value));
  if (operator === '!=') return (fields) => !values.some((value) => isEqual(fields.get(field), value));
  return (fields) => {
    const actual = Number(fields.get(field));
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

function isEqual(actual: string | number | boolean | undefined, value: string): boolean {
  if (actual === undefined) return false;
  if (typeof actual === 'boolean') return TRUE_WORDS.includes(value.toLowerCase()) === actual;
  if (typeof actual === 'number' && value.trim() !== '' && Number(value) === actual) return true;
  if (!value.includes('*')) return String(actual) === value;
  const pattern = value.split('*').map(escapePattern).join('.*');
  return new RegExp(`^${pattern}$`, 's').test(String(actual));
}

function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

export const CELL_FIELDS = [
  'model',
  'precision',
  'via',
  'batch',
  'shape',
  'cudaGraph',
  'dataTransfers',
  'streams',
  'spinWait',
  'key',
] as const;

/** @param dimensions the matrix's named dimensions, where known */
export function cellFields(
  cell: Cell & { readonly key?: string },
  dimensions: Readonly<Record<string, number>> = {},
): CellFields {
  const fields = new Map<string, string | number | boolean>([
    ['model', cell.model],
    ['precision', cell.precision],
    ['via', cell.precisionVia],
    [
      'shape',
      Object.values(cell.shapes)
        .map((shape) => shape.join('x'))
        .join(','),
    ],
    ['streams', cell.streams],
  ]);
  for (const option of ['cudaGraph', 'dataTransfers', 'spinWait'] as const) {
    const isOn = cell[option];
    if (isOn !== null) fields.set(option, isOn);
  }
  if (cell.key !== undefined) fields.set('key', cell.key);
  const batch = batchOf(cell.shapes);
  if (batch !== null) fields.set('batch', batch);
  for (const [name, value] of Object.entries(dimensions)) fields.set(name, value);
  for (const [name, { byDefault }] of Object.entries<NamedAxis>(NAMED_AXES)) {
    if (byDefault !== null) fields.set(name, byDefault);
  }
  for (const { name, word } of namedWords(cell.axisFlags)) fields.set(name, numberOrText(word));
  for (const [flag, value] of Object.entries(cell.axisFlags)) {
    fields.set(flag, value === '' ? true : numberOrText(value));
  }
  return fields;
}

export function flagFields(cells: readonly Pick<Cell, 'axisFlags'>[]): string[] {
  const names = cells.flatMap(({ axisFlags }) => [
    ...namedWords(axisFlags).map(({ name }) => name),
    ...Object.keys(axisFlags),
  ]);
  return [...new Set(names)];
}

/** Fields of the cells of a matrix. */
export function filterFields(
  cells: readonly { readonly cell: Pick<Cell, 'axisFlags'>; readonly dimensions: Readonly<Record<string, number>> }[],
): string[] {
  const dimensions = cells.flatMap((cell) => Object.keys(cell.dimensions));
  return [...new Set([...CELL_FIELDS, ...dimensions, ...flagFields(cells.map(({ cell }) => cell))])];
}

function numberOrText(value: string): number | string {
  return value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : value;
}
