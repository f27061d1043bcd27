import * as z from 'zod';

import { compareTexts, hashOf } from '../text/canonical-json.ts';
import { NEIGHBOR, flagWords } from './axis.ts';
import { cellHarnessSchema, isColdStart } from './harness.ts';
import { type Immutable, flagOrNull, textByName } from './scalars.ts';
import { type MetricId, metricOf } from './metric.ts';

export const PRECISIONS = ['fp32', 'tf32', 'fp16', 'bf16', 'int8', 'fp8', 'int4', 'best'] as const;

export type Precision = (typeof PRECISIONS)[number];

/**
 * The route to a precision:
 * - `flag`: a trtexec flag on a weakly typed network (TensorRT up to 10.x),
 * - `onnx`: an ONNX file that already has it (strongly typed if the version supports that),
 * - `autocast`, `modelopt`: the base ONNX converted by ModelOpt,
 * - `engine`: a given engine.
 */
export const PRECISION_ROUTES = ['flag', 'onnx', 'autocast', 'modelopt', 'engine'] as const;

export type PrecisionRoute = (typeof PRECISION_ROUTES)[number];

/** Routes without options, because TensorRT 11 has no precision options. fp32 and tf32 are the base model itself. */
export const DEFAULT_ROUTE: Readonly<Record<Precision, PrecisionRoute>> = {
  fp32: 'onnx',
  tf32: 'onnx',
  fp16: 'autocast',
  bf16: 'autocast',
  int8: 'modelopt',
  fp8: 'modelopt',
  int4: 'modelopt',
  best: 'flag',
};

export const shapesSchema = z.record(z.string(), z.array(z.number().int()));

/** Dimensions by input name. Empty for a model with static shapes that were not stated. */
export type Shapes = Immutable<z.infer<typeof shapesSchema>>;

/** Matches names of inputs that trtexec cannot read in shapes. */
export const UNREADABLE_NAME = /^$|[,'\s]/;

/** Parses trtexec's `input:8x3x224x224,'mask:0':8x1,scale:scalar`; null for other text. */
export function parseShapes(text: string): Shapes | null {
  const shapes = text.split(',').map((part): [string, number[]] => {
    const [, input = '', dims = ''] = /^'?(.+?)'?:(|scalar|\d+(?:x\d+)*)$/.exec(part.trim()) ?? [];
    return [input, /\d/.test(dims) ? dims.split('x').map(Number) : []];
  });
  return shapes.some(([input]) => input === '') ? null : Object.fromEntries(shapes);
}

/** The data at the inputs: trtexec's uniform random values, or files distinguished by their content. */
export const cellInputsSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('random') }),
  z.object({ kind: z.literal('files'), sha256ByInput: textByName }),
]);

export type CellInputs = Immutable<z.infer<typeof cellInputsSchema>>;

/**
 * A cell, whose fields are its identity. It excludes the content of the model, build options, warm-up, duration,
 * repeats and paths.
 */
export const cellSchema = z.object({
  model: z.string(),
  /** `unstated` for imported runs that load an engine and do not state it. */
  precision: z.enum([...PRECISIONS, 'unstated']),
  precisionVia: z.enum(PRECISION_ROUTES),
  shapes: shapesSchema,
  /** These three are null if an excerpt of a log lacks them. */
  cudaGraph: flagOrNull,
  dataTransfers: flagOrNull,
  streams: z.number().int(),
  spinWait: flagOrNull,
  inputs: cellInputsSchema,
  /**
   * All other values on axes: options (`''` for one without a value), environment variables (`env.NAME`), parameters of
   * a harness.
   */
  axisFlags: textByName,
  harness: cellHarnessSchema.describe('Absent where trtexec measures').exactOptional(),
});

export type Cell = Immutable<z.infer<typeof cellSchema>>;

/** Version of the definition of a cell's key. Keys of different versions are never equal. */
export const CELL_KEY_VERSION = 1;

export interface KeyedCell extends Cell {
  /** 32 hexadecimal digits. */
  readonly key: string;
}

/** The common leading dimension, which users call the batch; null if inputs differ or have none. Scalars do not count. */
export function batchOf(shapes: Shapes): number | null {
  const leading = new Set(Object.values(shapes).flatMap(([first]) => first ?? []));
  const [batch] = leading;
  return leading.size === 1 && batch !== undefined ? batch : null;
}

/** Items per second (images per second in NVIDIA's guide). Null if the inputs have no common leading dimension. */
export function itemsPerS(shapes: Shapes, throughputQps: number | null): number | null {
  const batch = batchOf(shapes);
  return batch === null || throughputQps === null ? null : batch * throughputQps;
}

/** Prefix for the name of a variable on an axis. */
export const ENV_AXIS = 'env.';

export function variablesOf(axisFlags: Cell['axisFlags']): Record<string, string> {
  const ofAxes = Object.entries(axisFlags).filter(([name]) => name.startsWith(ENV_AXIS));
  return Object.fromEntries(ofAxes.map(([name, value]) => [name.slice(ENV_AXIS.length), value]));
}

/** Cells of one kind have similar noise: without a CUDA graph it includes host time, and a neighbor adds noise. */
export function noiseKindOf({ axisFlags, cudaGraph }: Pick<Cell, 'axisFlags' | 'cudaGraph'>): string {
  if (axisFlags[NEIGHBOR] !== undefined) return 'neighbor';
  if (cudaGraph === null) return 'unstated';
  return cudaGraph ? 'graph' : 'noGraph';
}

/** The cell with its key: the first 128 bits of SHA-256 over its canonical JSON and the version of the key. */
export function keyedCell(cell: Cell): KeyedCell {
  const identity: Cell = cellSchema.parse(cell);
  return { ...identity, key: hashOf({ keyVersion: CELL_KEY_VERSION, ...identity }) };
}

export interface BuildShape {
  readonly min: readonly number[];
  readonly opt: readonly number[];
  readonly max: readonly number[];
}

/** Limits of one optimization profile, by input. */
export type BuildShapes = Readonly<Record<string, BuildShape>>;

/** The first dimension outside of the profile, in words; null when all are inside. */
export function outsideProfile(shapes: Shapes, profile: BuildShapes): string | null {
  for (const [input, shape] of Object.entries(shapes)) {
    const limits = profile[input];
    if (limits === undefined) continue;
    if (shape.length !== limits.max.length) {
      return `input "${input}": ${shape.join('x')} has ${shape.length} dimensions, the profile ${limits.max.length}`;
    }
    for (const [place, value] of shape.entries()) {
      const low = limits.min[place] ?? 0;
      const high = limits.max[place] ?? 0;
      if (value < low || value > high) {
        return `input "${input}": ${value} in dimension ${place} is outside of ${low} to ${high} (build.min to build.max)`;
      }
    }
  }
  return null;
}

/**
 * Index of the profile that shapes run in: of those that include them, the one with the nearest `opt`. -1: none
 * includes them.
 */
export function profileFor(shapes: Shapes, profiles: readonly BuildShapes[]): number {
  const distances = profiles.map((profile) =>
    outsideProfile(shapes, profile) === null ? distance(shapes, profile) : Number.POSITIVE_INFINITY,
  );
  const least = Math.min(...distances);
  return Number.isFinite(least) ? distances.indexOf(least) : -1;
}

/** Distance on the log scale, so that half and twice `opt` are equally near. */
function distance(shapes: Shapes, profile: BuildShapes): number {
  return Object.entries(shapes)
    .flatMap(([input, shape]) => shape.map((value, place) => [value, profile[input]?.opt[place] ?? value] as const))
    .reduce((sum, [value, opt]) => sum + Math.abs(Math.log(Math.max(value, 1) / Math.max(opt, 1))), 0);
}

/** The profiles of an engine, from the options of its build. */
export function profilesIn(flags: readonly string[]): BuildShapes[] {
  const [mins, opts, maxs] = (['min', 'opt', 'max'] as const).map((limit) =>
    flags
      .filter((flag) => flag.startsWith(`--${limit}Shapes=`))
      .map((flag) => parseShapes(flag.slice(flag.indexOf('=') + 1)) ?? {}),
  );
  return (opts ?? []).map((opt, place) =>
    Object.fromEntries(
      Object.entries(opt).map(([input, shape]) => {
        const [min, max] = [mins?.[place]?.[input] ?? shape, maxs?.[place]?.[input] ?? shape];
        return [input, { min, opt: shape, max }];
      }),
    ),
  );
}

/**
 * A cell in one line: `vit_small fp16 8x3x224x224 graph`. Omits defaults that are on. Not safe to print, because names
 * are untrusted.
 */
export function cellLabel(cell: Cell): string {
  const { axisFlags, model, precision, precisionVia } = cell;
  const shapes = Object.entries(cell.shapes);
  const onlyShape = shapes.length === 1 ? shapes[0]?.[1].join('x') : undefined;
  const shape = onlyShape ?? shapes.map(([input, dims]) => `${input}:${dims.join('x')}`).join(',');
  const network = [model, precision === 'unstated' ? '' : precision, precisionVia === 'flag' ? '(flag)' : '', shape];
  const words = [...network, ...optionWords(cell), ...flagWords(axisFlags), harnessWords(cell)];
  return words.filter((word) => word !== '').join(' ');
}

/** The precision in tables; empty for a program of another kind without one. */
export const precisionName = ({ harness, precision }: Cell): string =>
  precision !== 'unstated' ? precision : harness === undefined ? 'unknown' : '';

/** Label of a stored cell; else the start of its key. */
export function labelIn(cells: ReadonlyMap<string, Cell>, key: string): string {
  const cell = cells.get(key);
  return cell === undefined ? key.slice(0, 8) : cellLabel(cell);
}

/** Text whose order is that of its numbers: batch 8 before batch 32. */
const padded = (text: string): string => text.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(12, '0'));

export const byNumber = (a: string, b: string): number => compareTexts(padded(a), padded(b));

/** Sorts by label, with numbers by value. */
export function inLabelOrder(cells: readonly KeyedCell[]): KeyedCell[] {
  return cells
    .map((cell) => ({ cell, label: padded(cellLabel(cell)) }))
    .toSorted((a, b) => compareTexts(a.label, b.label) || (a.cell.key < b.cell.key ? -1 : 1))
    .map(({ cell }) => cell);
}

/** The cell and metric of a row in an output. */
export function aboutCell(cell: KeyedCell, metric: MetricId) {
  return { key: cell.key, label: cellLabel(cell), metric, unit: metricOf(metric).unit };
}

/** Words for graph, transfers, spin wait, streams and inputs, if they differ from the usual. */
export function optionWords(cell: Cell): string[] {
  const noGraph = cell.harness === undefined ? 'no-graph' : '';
  return [
    cell.cudaGraph === null ? 'options unknown' : cell.cudaGraph ? 'graph' : noGraph,
    cell.dataTransfers === true ? 'transfers' : '',
    cell.spinWait === false ? 'no-spin' : '',
    cell.streams === 1 ? '' : `streams=${cell.streams}`,
    cell.inputs.kind === 'files' ? 'inputs' : '',
  ].filter((word) => word !== '');
}

/** `by command/wall`: a harness other than trtexec, and its timer if known; empty for trtexec. */
export function harnessWords({ harness }: Cell): string {
  if (harness === undefined) return '';
  if (isColdStart({ harness })) return harness.name;
  return harness.timer === 'unknown' ? `by ${harness.name}` : `by ${harness.name}/${harness.timer}`;
}

export function cellDifference(a: Cell, b: Cell): string {
  const [was, is] = [cellLabel(a).split(' '), cellLabel(b).split(' ')];
  const gone = was.filter((word) => !is.includes(word)).join(' ');
  const come = is.filter((word) => !was.includes(word)).join(' ');
  return gone === '' && come === '' ? '' : `${gone || 'none'} → ${come || 'none'}`;
}
