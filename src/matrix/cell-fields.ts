import { type Cell, batchOf } from '../records/cell.ts';
import { NAMED_AXES, type NamedAxis, namedWords } from '../records/axis.ts';
import { cellLabel, precisionName } from '../text/cell-label.ts';

/** A list matches if any of its values does. */
export type FieldValue = string | number | boolean | readonly string[];

/** A cell in the form for filter expressions. */
export interface CellFields {
  readonly values: ReadonlyMap<string, FieldValue>;
  /** Fields that not every cell has: dimensions of the matrix, and options on axes. */
  readonly names: readonly string[];
  /** The words of the cell in tables, in lower case. */
  readonly words: readonly string[];
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

/** @param dimensions the named dimensions of the matrix, if known */
export function cellFields(
  cell: Cell & { readonly key?: string },
  dimensions: Readonly<Record<string, number>> = {},
): CellFields {
  const flags = namedWords(cell.axisFlags);
  const names = [...Object.keys(dimensions), ...flags.map(({ name }) => name), ...Object.keys(cell.axisFlags)];
  return { values: valuesOf(cell, dimensions), names, words: wordsOf(cell) };
}

function wordsOf(cell: Cell): string[] {
  const batch = batchOf(cell.shapes);
  const inputs = Object.entries(cell.shapes).map(([input, shape]) => `${input}:${shape.join('x')}`);
  const words = [
    ...cellLabel(cell).split(' '),
    cell.model,
    precisionName(cell),
    ...inputs,
    batch === null ? '' : `b${batch}`,
  ];
  return words.map((word) => (word === '(flag)' ? 'flag' : word.toLowerCase())).filter(Boolean);
}

function valuesOf(cell: Cell & { readonly key?: string }, dimensions: Readonly<Record<string, number>>) {
  const fields = new Map<string, FieldValue>([
    ['model', cell.model],
    ['precision', cell.precision === 'unstated' ? [cell.precision, precisionName(cell)] : cell.precision],
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

function numberOrText(value: string): number | string {
  return value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : value;
}
