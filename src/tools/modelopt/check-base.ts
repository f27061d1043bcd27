import * as z from 'zod';

import type { Shapes } from '../../records/cell.ts';
import type { FailureReason } from '../../records/outcome.ts';
import type { PlannedVariant } from '../../records/plan.ts';
import { didYouMean } from '../../text/nearest.ts';
import { fixedSize, type OnnxFacts, type OnnxTensorInfo, shapeFits, shapeText } from '../onnx/facts.ts';

/** numpy's names of ONNX input types. numpy has no bfloat16 and no float8. */
export const NPY_TYPES: Readonly<Record<string, string>> = {
  float16: '<f2',
  float32: '<f4',
  float64: '<f8',
  int8: '|i1',
  int16: '<i2',
  int32: '<i4',
  int64: '<i8',
  uint8: '|u1',
  uint16: '<u2',
  uint32: '<u4',
  uint64: '<u8',
  bool: '|b1',
};

/** An array of calibration data. The name is empty for the single array of an npy file. */
export const arrayFactsSchema = z.object({
  name: z.string(),
  descr: z.string(),
  shape: z.array(z.number()),
  notFinite: z.number(),
});

type ArrayFacts = z.infer<typeof arrayFactsSchema>;

export interface ConversionMistake {
  readonly reason: FailureReason;
  readonly problem: string;
}

export interface CalibrationInput {
  readonly name: string;
  readonly elementType: string;
  readonly shape: readonly number[];
}

const LISTED = 12;

/**
 * Finds mistakes that ModelOpt reports late or ignores: quantized models, unknown names, dynamic dimensions calibrated
 * as 1.
 */
export function checkBase(facts: OnnxFacts, variant: PlannedVariant, model: string): ConversionMistake | null {
  const lost = facts.externalFiles.find(({ problem }) => problem !== null);
  if (lost !== undefined) {
    const problem = `${model}: its external data ${lost.location}: ${lost.problem}`;
    return { reason: 'modelInvalid', problem };
  }
  const { by, precision } = variant;
  const quantizing = facts.quantizeNodes + facts.dequantizeNodes;
  if (by === 'modelopt' && quantizing > 0) {
    return {
      reason: 'modelInvalid',
      problem: `${model} is quantized already (${quantizing} Q/DQ nodes): make ${precision} from the model before that, or name it as it is (precisions: {${precision}: {onnx: FILE}})`,
    };
  }
  const ops = facts.ops.map(({ opType }) => opType);
  const typo = variant.opTypes.find((name) => !ops.includes(name));
  if (typo !== undefined) {
    const problem = `${model} has no operator ${typo}${didYouMean(typo, ops) || ` (it has ${ops.slice(0, LISTED).join(', ')})`}`;
    return { reason: 'conversionFailed', problem };
  }
  const inputs = facts.inputs.map(({ name }) => name);
  const unknown = Object.keys(variant.calibration?.shapes ?? {}).find((name) => !inputs.includes(name));
  if (unknown !== undefined) {
    const problem = `${model} has no input "${unknown}" (it has ${inputs.join(', ')})${didYouMean(unknown, inputs)}`;
    return { reason: 'shapeInvalid', problem };
  }
  return null;
}

export function calibrationInputs(
  facts: OnnxFacts,
  variant: PlannedVariant,
  model: string,
): readonly CalibrationInput[] | ConversionMistake {
  const inputs: CalibrationInput[] = [];
  for (const input of facts.inputs) {
    const { elementType, name } = input;
    if (NPY_TYPES[elementType] === undefined) {
      const problem = `${model}: input "${name}" is ${elementType}, which numpy does not support: bench cannot calibrate it`;
      return { reason: 'conversionFailed', problem };
    }
    const shape = shapeOf(input, variant.calibration?.shapes[name] ?? null);
    if (typeof shape === 'string') return { reason: 'shapeInvalid', problem: `${model}: ${shape}` };
    inputs.push({ name, elementType, shape });
  }
  return inputs;
}

/** The stated shape if it fits the model, else that of the model; a string describes a mistake. */
function shapeOf({ name, shape }: OnnxTensorInfo, stated: readonly number[] | null): readonly number[] | string {
  if (stated !== null) {
    return shapeFits(shape, stated) ? stated : `input "${name}" is ${shapeText(shape)}, not ${stated.join('x')}`;
  }
  if (shape === null) return `input "${name}" states no shape: ${askForShapes(name, null)}`;
  // As in ModelOpt, the batch defaults to 1. For other dimensions, 1 would mean an image of one pixel.
  const filled = shape.map((dimension, place) => fixedSize(dimension) ?? (place === 0 ? 1 : null));
  const known = filled.filter((dimension) => dimension !== null);
  return known.length === shape.length
    ? known
    : `input "${name}" is ${shapeText(shape)}: ${askForShapes(name, shape.length)}`;
}

function askForShapes(name: string, rank: number | null): string {
  const example = rank === 2 ? '1x128' : rank === 3 ? '1x128x64' : '1x3x224x224';
  return `say with which sizes it is calibrated: shapes in calibration ({${name}: ${example}}), or --calibration-shapes ${name}:${example}`;
}

/**
 * The first mistake in the calibration data, or null. ModelOpt would show a traceback or nothing. @param steps shapes
 * of one step, if known
 */
export function checkCalibration(
  arrays: readonly ArrayFacts[],
  { inputs }: Pick<OnnxFacts, 'inputs'>,
  steps: Shapes,
): string | null {
  const [only] = arrays;
  const named =
    arrays.length === 1 && only?.name === '' && inputs.length === 1
      ? [{ ...only, name: inputs[0]?.name ?? '' }]
      : arrays;
  if (named.some(({ name }) => name === '')) {
    return `an npy file holds one array, and the model has ${inputs.length} inputs: save an npz with one array for each`;
  }
  const names = inputs.map(({ name }) => name);
  const extra = named.find(({ name }) => !names.includes(name));
  if (extra !== undefined) {
    return `the model has no input "${extra.name}" (it has ${names.join(', ')})${didYouMean(extra.name, names)}`;
  }
  for (const input of inputs) {
    const array = named.find(({ name }) => name === input.name);
    if (array === undefined) return `there is no array for the input "${input.name}"`;
    const problem =
      typeProblem(array, input.elementType) ??
      shapeProblem(array, input.shape) ??
      stepProblem(array, steps[input.name] ?? null);
    if (problem !== null) return `${input.name}: ${problem}`;
  }
  const samples = new Set(named.map(({ shape }) => shape[0]));
  return samples.size > 1
    ? `the inputs have different numbers of samples: ${named.map(({ name, shape }) => `${name} ${shape[0]}`).join(', ')}`
    : null;
}

function typeProblem({ descr, notFinite }: ArrayFacts, elementType: string): string | null {
  if (descr.includes('O')) return 'it holds Python objects: save plain arrays of numbers';
  const wanted = NPY_TYPES[elementType];
  if (wanted === undefined) return `the model takes ${elementType}, which numpy does not have`;
  if (descr !== wanted) {
    const is = Object.entries(NPY_TYPES).find(([, name]) => name === descr)?.[0] ?? descr;
    return `it is ${is}, and the model takes ${elementType}: save it with .astype("${elementType}")`;
  }
  return notFinite > 0
    ? `${notFinite} ${notFinite === 1 ? 'value is' : 'values are'} not finite (NaN or infinity)`
    : null;
}

/** The first dimension counts samples, regardless of the model. */
function shapeProblem({ shape }: ArrayFacts, wanted: OnnxTensorInfo['shape']): string | null {
  return shapeFits(wanted, shape, 1) ? null : `it is ${shapeText(shape)}, and the model takes ${shapeText(wanted)}`;
}

function stepProblem({ shape }: ArrayFacts, step: readonly number[] | null): string | null {
  const samples = shape[0] ?? 0;
  if (samples === 0) return 'it has no samples';
  if (step === null) return null;
  const [batch = 1] = step;
  if (samples < batch) {
    return `${samples} samples are fewer than one step of ${batch}: give at least ${batch}, or smaller calibration shapes`;
  }
  const differs = step.some((size, place) => place > 0 && size !== shape[place]);
  return differs ? `it is ${shapeText(shape)}, and one step is ${shapeText(step)}` : null;
}
