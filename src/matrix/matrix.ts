import type { SourcePosition } from '../errors.ts';
import type { AbExperiment } from '../judge/experiment.ts';
import { NAMED_AXES, type NamedAxis, namedWords } from '../records/axis.ts';
import { type Cell, type KeyedCell, batchOf, keyedCell, cellLabel, precisionName } from '../records/cell.ts';
import { COLD_START } from '../records/harness.ts';
import type { NamedShapes, PlannedHarness } from '../records/plan.ts';
import type { RunMark } from '../records/outcome.ts';
import type { BuildRequest, RunMethod } from './schema/settings.ts';
import type { Placed } from './yaml/yaml-source.ts';

export interface PlacedFile extends Placed<string> {
  readonly bytes: number;
  /** True if the file holds only zero bytes. */
  readonly isConstant: boolean;
}

export interface MatrixHarness extends PlannedHarness {
  readonly timeoutS: number | null;
  readonly estimateS: number;
}

export interface MatrixCell {
  readonly cell: KeyedCell;
  readonly harness: MatrixHarness | null;
  /** Variables on axes; null unsets one. */
  readonly env: Readonly<Record<string, string | null>>;
  /** Values of named dimensions, such as the batch. */
  readonly dimensions: Readonly<Record<string, number>>;
  readonly namedShapes: NamedShapes;
  readonly method: RunMethod;
  readonly build: BuildRequest;
  /** Position of the shapes: those of the model, or on an axis. */
  readonly shapesAt: SourcePosition;
  readonly inputFiles: Readonly<Record<string, PlacedFile>>;
  readonly at: SourcePosition;
  readonly precisionAt: SourcePosition;
  /** Notes of its model, which are stored with runs and do not affect identity. */
  readonly notes: readonly string[];
  /** Side of an A/B experiment. A and B of the same pair are measured one right after the other. */
  readonly side?: { readonly pair: string; readonly marks: readonly RunMark[] };
  /** Number of repeats if it differs: for a cold start. */
  readonly repeats?: number;
  /** The cell that runs on the same GPU meanwhile. A neighbor has no neighbor. */
  readonly neighbor?: MatrixCell;
}

/** The flags of a cell for builds and for runs. */
export function statedFlags({ build, method }: MatrixCell) {
  return [...Object.entries(build.flags), ...Object.entries(method.flags)];
}

/** The cells with their neighbors, each cell once. */
export function withNeighborCells(cells: readonly MatrixCell[]): MatrixCell[] {
  const all = [...cells, ...cells.flatMap(({ neighbor }) => neighbor ?? [])];
  return [...new Map(all.map((entry) => [entry.cell.key, entry])).values()];
}

/** The first query is the first inference, and the summary needs some more. */
const QUERIES = 10;

/** States what the numbers include, which a run cannot know. */
const NOTE =
  'cold start of a process: its engine file is in the memory of the host (caches are not dropped), the driver and its kernel cache are warm';

/**
 * Separate cells for the events that happen once in a process, so that they are never among the steady times. They have
 * no CUDA graph, whose capture follows an inference, and only one stream. Cells that differ only in these share one.
 */
export function coldStarts(cells: readonly MatrixCell[], repeats: number | null): MatrixCell[] {
  if (repeats === null) return [];
  const cold = cells.flatMap((entry): MatrixCell[] => {
    if (entry.harness !== null) return [];
    const { key: _key, ...cell } = entry.cell;
    return [
      {
        ...entry,
        cell: keyedCell({ ...cell, cudaGraph: false, streams: 1, harness: COLD_START }),
        method: {
          ...entry.method,
          warmUpMs: 0,
          durationS: 0,
          iterations: QUERIES,
          exportTimes: true,
          minQueries: 1,
          minWarmUpQueries: 0,
        },
        repeats,
        notes: [...entry.notes, NOTE],
      },
    ];
  });
  return [...new Map(cold.map((entry) => [entry.cell.key, entry])).values()];
}

/** Every cell as side A, and as side B with the variables set. */
export interface TwoSidedCells {
  readonly cells: readonly MatrixCell[];
  readonly experiment: AbExperiment;
}

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
  const shapes = Object.values(cell.shapes).map((shape) => shape.join('x'));
  const fields = new Map<string, FieldValue>([
    ['model', cell.model],
    ['precision', cell.precision === 'unstated' ? [cell.precision, precisionName(cell)] : cell.precision],
    ['via', cell.precisionVia],
    ['shape', shapes.join(',')],
    ['streams', cell.streams],
  ]);
  const { cudaGraph, dataTransfers, key = null, spinWait } = cell;
  const ifKnown = { cudaGraph, dataTransfers, spinWait, key, batch: batchOf(cell.shapes) };
  for (const [name, value] of Object.entries(ifKnown)) if (value !== null) fields.set(name, value);
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
