import * as z from 'zod';

import { UsageError } from '../../errors.ts';
import { CELL_FIELDS } from '../../matrix/matrix.ts';
import { AXIS_NAMES } from '../../matrix/schema/schema.ts';
import { type Precision, PRECISIONS, UNREADABLE_NAME } from '../../records/cell.ts';
import { count, output, type OutputOf } from '../../records/output-parts.ts';
import { isAtLeast, type TensorrtVersion } from '../../text/version.ts';
import type { OnnxDimension, OnnxFacts, OnnxTensorInfo } from '../../tools/onnx/facts.ts';

const sizeSchema = z.number().int().min(0);

export const initOutput = output('bench init --json', {
  file: z.string().describe('The matrix that was written'),
  schemaFile: z.string().nullable().describe('The schema file, for editors; null if it existed'),
  ignoreFile: z.string().nullable().describe('The .gitignore that was written; null when one was there'),
  trtexec: z
    .strictObject({ path: z.string(), version: z.string().nullable() })
    .nullable()
    .describe('Null when there is none'),
  gpus: z.array(z.string()),
  models: z.array(
    z.strictObject({
      name: z.string(),
      onnx: z.string().describe('Relative to the folder of the matrix'),
      precisions: z.array(
        z.strictObject({
          precision: z.enum(PRECISIONS),
          source: z.string().describe('onnx, flag or autocast'),
          why: z.string(),
        }),
      ),
      dimensions: z
        .array(
          z.strictObject({
            name: z.string(),
            values: z.array(sizeSchema),
            min: sizeSchema,
            opt: sizeSchema,
            max: sizeSchema,
            why: z.string().nullable().describe('Why it was guessed'),
          }),
        )
        .describe('Inputs with dynamic dimensions'),
    }),
  ),
  skipped: z.array(z.strictObject({ path: z.string(), problem: z.string() })),
  lacking: z.array(z.string()).describe('What this machine lacks to run the matrix'),
  cells: count,
  runs: count,
});

export type InitOutput = OutputOf<typeof initOutput>;

type Model = InitOutput['models'][number];
type Dimension = Model['dimensions'][number];
type DraftPrecision = Model['precisions'][number];
export type SkippedFile = InitOutput['skipped'][number];

export interface DraftModel extends Model {
  /** Run shapes by input; null for a model without open dimensions. */
  readonly shapes: Readonly<Record<string, readonly (number | string)[]>> | null;
  /** False where graph capture would fail. */
  readonly cudaGraph: boolean;
}

export interface Possibilities {
  /** Null when unknown; the draft then contains only what every version supports. */
  readonly version: TensorrtVersion | null;
  readonly hasModelopt: boolean;
}

/** The name itself, or with a number if it is taken. */
export function firstFree(wanted: string, taken: readonly string[]): string {
  let name = wanted;
  for (let number = 2; taken.includes(name); number += 1) name = `${wanted}_${number}`;
  return name;
}

/** @throws UsageError with the reason why no matrix can use the model */
export function draftModel(facts: OnnxFacts, possibilities: Possibilities): Omit<DraftModel, 'name' | 'onnx'> {
  const shapes = draftShapes(facts.inputs);
  const own = ownPrecision(facts);
  return { ...shapes, precisions: proposals(own, possibilities), cudaGraph: facts.controlFlowOps.length === 0 };
}

/** The precision of a model. */
function ownPrecision(facts: OnnxFacts): Precision {
  const [quantized] = facts.quantizedTypes;
  if (facts.quantizeNodes + facts.dequantizeNodes > 0 && quantized !== undefined) {
    const [, bits] = /^(?:u?int|float)(8|4)/.exec(quantized.elementType) ?? [];
    if (bits === undefined || quantized.elementType === 'float4e2m1') {
      throw new UsageError('it is quantized to a type that no precision of a matrix represents');
    }
    return quantized.elementType.startsWith('float') ? 'fp8' : bits === '8' ? 'int8' : 'int4';
  }
  // A model without weights computes in the type of its inputs.
  const most = [...facts.weights.toSorted((a, b) => b.bytes - a.bytes), ...facts.inputs].find(({ elementType }) =>
    /^b?float(?:16|32)$/.test(elementType),
  );
  return most?.elementType === 'float16' ? 'fp16' : most?.elementType === 'bfloat16' ? 'bf16' : 'fp32';
}

/** Proposed precisions of a model, its own first. */
function proposals(own: Precision, { version, hasModelopt }: Possibilities): DraftPrecision[] {
  const self: DraftPrecision = { precision: own, source: 'onnx', why: 'the model as it is' };
  if (own !== 'fp32') return [self];
  if (version !== null && !isAtLeast(version, '11.0')) {
    return [self, { precision: 'fp16', source: 'flag', why: "by trtexec's --fp16, which TensorRT 11 no longer has" }];
  }
  return hasModelopt ? [self, { precision: 'fp16', source: 'autocast', why: "made by ModelOpt's AutoCast" }] : [self];
}

type SizeGuess = Omit<Dimension, 'name'>;

function around(opt: number, min: number, max: number, why: string): SizeGuess {
  return { values: [opt], min, opt, max, why };
}

const BATCH: SizeGuess = { ...around(8, 1, 32, 'a batch: three sizes, tuned for the middle one'), values: [1, 8, 32] };
const UNKNOWN = around(16, 1, 64, 'the model does not describe this dimension');

/** Tried in order on the lower-case name of a dimension. */
const SIZES: readonly (readonly [name: RegExp, guess: SizeGuess])[] = [
  [/^(?:n|b|bs|num_samples)$|batch/, BATCH],
  [/chan/, around(3, 3, 3, 'channels of a color image')],
  [/past|cache|kv|seq|len|token|context|^[lst]$/, around(128, 1, 512, 'the length of a sequence')],
  [/height|width|image|pixel|^[hw]$/, around(256, 128, 512, 'the side of an image: multiples of 64')],
];

/**
 * A size for an open dimension.
 * @param name such as `batch` or `seq_len`; null when unnamed
 * @param place 0-based; an unclear first dimension is taken for the batch
 */
export function guessSize(name: string | null, place: number): SizeGuess {
  const guess = SIZES.find(([pattern]) => pattern.test((name ?? '').toLowerCase()))?.[1];
  return guess ?? (place === 0 ? BATCH : UNKNOWN);
}

/**
 * Names with another meaning as an axis or in a filter. A dimension `batch` is allowed, because it is the field of that
 * name.
 */
const TAKEN = new Set<string>([...AXIS_NAMES, ...CELL_FIELDS, 'model'].filter((name) => name !== 'batch'));

/**
 * Shapes for inputs with open dimensions: one axis per name, and one per unnamed dimension.
 * @throws UsageError if they cannot be given
 */
export function draftShapes(inputs: readonly OnnxTensorInfo[]): Pick<DraftModel, 'shapes' | 'dimensions'> {
  const open: { readonly input: string; readonly shape: readonly OnnxDimension[] }[] = [];
  for (const { elementType, name, shape } of inputs) {
    if (['sequence', 'map', 'optional', 'opaque', 'string'].includes(elementType)) {
      throw new UsageError(`input ${name} is of the type ${elementType}, which TensorRT does not take`);
    }
    if (shape === null) throw new UsageError(`it does not say how many dimensions input ${name} has`);
    if (shape.every((dimension) => typeof dimension === 'number')) continue;
    if (UNREADABLE_NAME.test(name)) {
      throw new UsageError(`trtexec does not support input ${name}: it has a comma, a quote or a space in its name`);
    }
    open.push({ input: name, shape });
  }
  if (open.length === 0) return { shapes: null, dimensions: [] };
  const axes = new Map<string, Dimension>();
  const axisOf = (input: string, dimension: string | null, place: number): string => {
    // An unnamed first dimension is the batch.
    const stated = dimension ?? (place === 0 ? 'batch' : `${input}_dim${place}`);
    const known = axes.get(stated);
    if (known !== undefined) return known.name;
    const word = stated.replaceAll(/\W+/g, '_');
    const plain = /[A-Za-z]/.test(word) ? word.replace(/^(?=\d)/, '_') : `dim${axes.size}`;
    const taken = [...axes.values()].map((axis) => axis.name);
    const name = firstFree(TAKEN.has(plain) ? `${plain}_dim` : plain, taken);
    axes.set(stated, { name, ...guessSize(dimension, place) });
    return name;
  };
  const shapes = open.map(({ input, shape }) => [
    input,
    shape.map((size, place) => (typeof size === 'number' ? size : axisOf(input, size, place))),
  ]);
  return { shapes: Object.fromEntries(shapes), dimensions: [...axes.values()] };
}
