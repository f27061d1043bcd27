import * as z from 'zod';
import type { Shapes } from '../../records/cell.ts';
import { count, type OutputOf } from '../../records/output-parts.ts';
import { didYouMean } from '../../text/nearest.ts';
import { printable, shortList } from '../../text/printable.ts';

/** A dimension: its size, the name of a dynamic one, or null for a dynamic one without a name. */
const onnxDimension = z.union([z.number().int(), z.string()]).nullable();

const tensor = z.strictObject({
  name: z.string(),
  elementType: z.string().describe('float16, int64, …; for inputs other than tensors: sequence, map, …'),
  shape: z
    .array(onnxDimension)
    .nullable()
    .describe('Size, name of a dynamic dimension, or null for one without a name'),
});

const opCounts = z.array(
  z.strictObject({ domain: z.string().describe('Empty for the operators of ONNX itself'), opType: z.string(), count }),
);

/** Facts about an ONNX model. Weights are counted but never read. */
export const onnxFacts = z.strictObject({
  fileBytes: count,
  irVersion: z.number().int(),
  producer: z.string(),
  opsets: z.array(z.strictObject({ domain: z.string(), version: z.number().int() })),
  inputs: z.array(tensor).describe('Without initializers'),
  outputs: z.array(tensor),
  nodes: count.describe('Nodes of the main graph'),
  nestedNodes: count.describe('Nodes in control-flow graphs and in functions of the model'),
  ops: opCounts.describe('All operators, nested ones too, the most frequent first'),
  initializers: count,
  inlineBytes: count.describe('Weights in the file itself'),
  externalBytes: count.describe('Weights in other files'),
  weights: z.array(z.strictObject({ elementType: z.string(), tensors: count, bytes: count })),
  quantizeNodes: count,
  dequantizeNodes: count,
  quantizedTypes: z.array(z.strictObject({ elementType: z.string(), nodes: count })),
  customOps: opCounts.describe('Operators that need a plugin'),
  dataDependentOps: opCounts.describe('Operators whose output shape depends on values'),
  controlFlowOps: opCounts,
  externalFiles: z.array(
    z.strictObject({
      location: z.string(),
      tensors: count,
      neededBytes: count,
      bytes: count.nullable(),
      problem: z.string().nullable().describe('Problem that prevents its use'),
    }),
  ),
});

export type OnnxFacts = OutputOf<typeof onnxFacts>;
export type OnnxDimension = z.infer<typeof onnxDimension>;
export type OnnxTensorInfo = OnnxFacts['inputs'][number];
export type OnnxOpCount = OnnxFacts['ops'][number];

/** An input whose shape is complete. */
export interface SizedInput extends Omit<OnnxTensorInfo, 'shape'> {
  readonly shape: readonly number[];
}

/** Null for a dynamic dimension. */
export function fixedSize(dimension: OnnxDimension | undefined): number | null {
  return typeof dimension === 'number' ? dimension : null;
}

/** Whether sizes match the shape of a model. @param from index of the first dimension that counts */
export function shapeFits(shape: readonly OnnxDimension[] | null, sizes: readonly number[], from = 0): boolean {
  return (
    shape === null ||
    (shape.length === sizes.length &&
      shape.every((dimension, place) => place < from || [null, sizes[place]].includes(fixedSize(dimension))))
  );
}

export function isDynamic({ shape }: Pick<OnnxTensorInfo, 'shape'>): boolean {
  return shape === null || shape.some((size) => typeof size !== 'number');
}

/**
 * An input with the stated sizes, else with those of the model. A text if the two differ; null if a size is open.
 * @param first size of an open first dimension
 */
export function sizedInput(
  { shape, ...input }: OnnxTensorInfo,
  stated?: readonly number[],
  first: number | null = null,
): SizedInput | string | null {
  const isPossible = stated === undefined || (shapeFits(shape, stated) && stated.every((size) => size > 0));
  if (!isPossible) return `${shapeText(shape)}, not ${stated.join('x')}`;
  if (stated === undefined && shape === null) return null;
  const sizes = stated ?? (shape ?? []).map((size, place) => fixedSize(size) ?? (place === 0 ? first : null));
  const known = sizes.filter((size) => size !== null);
  return known.length < sizes.length ? null : { ...input, shape: known };
}

/** Shapes for trtexec of the inputs with open sizes, where 1 represents an unknown one. */
export function openShapes(inputs: readonly OnnxTensorInfo[], stated: Shapes = {}): string {
  return inputs
    .filter(isDynamic)
    .map(
      ({ name, shape }) => `${name}:${(stated[name] ?? shape ?? [null]).map((size) => fixedSize(size) ?? 1).join('x')}`,
    )
    .join(',');
}

const LISTED_NAMES = 8;

/** Words about an input that the model does not have. */
export function noInput(name: string, inputs: readonly OnnxTensorInfo[]): string {
  const names = inputs.map((input) => printable(input.name));
  return `has no input "${name}" (it has ${shortList(names, LISTED_NAMES) || 'none'})${didYouMean(name, names)}`;
}

/** Returns `[batch, 3, 224, 224]`, with `?` for a dimension without a name. */
export function shapeText(shape: readonly OnnxDimension[] | null): string {
  return shape === null ? 'unknown' : `[${shape.map((dimension) => dimension ?? '?').join(', ')}]`;
}

/**
 * Size of this many elements in whole bytes, because four-bit types are packed. Null for types without a fixed size.
 */
export function elementsBytes(elementType: string, elements: number): number | null {
  const bits = /^(?:u?int|b?float|complex)(\d+)/.exec(elementType)?.[1];
  if (elementType === 'bool') return elements;
  return bits === undefined ? null : Math.ceil((elements * Number(bits)) / 8);
}

/** `NonZero (2), vendor.ops::Plugin (1)` */
export function opCountsText(ops: readonly OnnxOpCount[]): string {
  return ops.map((op) => `${opName(op.domain, op.opType)} (${op.count})`).join(', ');
}

export function opName(domain: string, opType: string): string {
  return domain === '' ? opType : `${domain}::${opType}`;
}

/** Names of `TensorProto.DataType` by number, from onnx.proto. The first number in a name is its number of bits. */
const ELEMENT_TYPES =
  'undefined float32 uint8 int8 uint16 int16 int32 int64 string bool float16 float64 uint32 uint64 complex64 complex128 bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1 float8e8m0 uint2 int2'.split(
    ' ',
  );

export function elementTypeName(dataType: number): string {
  return ELEMENT_TYPES[dataType] ?? `type ${dataType}`;
}
