import type { Cell } from '../../records/cell.ts';
import { batchOf } from '../../records/cell.ts';
import { NAMED_AXES, type NamedAxis, namedWords } from '../../records/axis.ts';
import type { CellFields } from './filter-expression.ts';

/** Fields that every cell has, in the matrix and in the store. */
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

/** What filters compare with. `dimensions` are the matrix's own names of dimensions, where they are known. */
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

/** Fields of the flags that stand on an axis of some of the cells, by flag and by word. */
export function flagFields(cells: readonly Pick<Cell, 'axisFlags'>[]): string[] {
  const names = cells.flatMap(({ axisFlags }) => [
    ...namedWords(axisFlags).map(({ name }) => name),
    ...Object.keys(axisFlags),
  ]);
  return [...new Set(names)];
}

function numberOrText(value: string): number | string {
  return value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : value;
}
