import * as z from 'zod';

import type { Shapes } from '../../records/cell.ts';
import { conversionFailure, type ConversionFailure } from '../../records/conversion.ts';
import type { FailureReason } from '../../records/outcome.ts';
import type { PlannedVariant } from '../../records/plan.ts';
import { didYouMean } from '../../text/nearest.ts';
import { noInput, shapeFits, shapeText, sizedInput } from '../onnx/facts.ts';
import type { OnnxFacts, OnnxTensorInfo, SizedInput } from '../onnx/facts.ts';

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

const LISTED = 12;

/**
 * Finds mistakes that ModelOpt reports late or ignores: quantized models, unknown names, dynamic dimensions calibrated
 * as 1.
 */
export function checkBase(facts: OnnxFacts, variant: PlannedVariant, model: string): ConversionFailure | null {
  const mistake = (reason: FailureReason, problem: string) => conversionFailure(reason, `${model}${problem}`);
  const { by, precision } = variant;
  const lost = facts.externalFiles.find(({ problem }) => problem !== null);
  if (lost !== undefined) return mistake('modelInvalid', `: its external data ${lost.location}: ${lost.problem}`);
  const quantizing = facts.quantizeNodes + facts.dequantizeNodes;
  if (by === 'modelopt' && quantizing > 0) {
    const advice = `make ${precision} from the model before that, or name it as it is (precisions: {${precision}: {onnx: FILE}})`;
    return mistake('modelInvalid', ` is quantized already (${quantizing} Q/DQ nodes): ${advice}`);
  }
  const ops = facts.ops.map(({ opType }) => opType);
  const typo = variant.opTypes.find((name) => !ops.includes(name));
  if (typo !== undefined) {
    const near = didYouMean(typo, ops) || ` (it has ${ops.slice(0, LISTED).join(', ')})`;
    return mistake('conversionFailed', ` has no operator ${typo}${near}`);
  }
  const names = facts.inputs.map(({ name }) => name);
  const unknown = Object.keys(variant.calibration?.shapes ?? {}).find((name) => !names.includes(name));
  return unknown === undefined ? null : mistake('shapeInvalid', ` ${noInput(unknown, facts.inputs)}`);
}

/** The inputs with the stated shape, else that of the model. As in ModelOpt, the batch defaults to 1. */
export function calibrationInputs(
  facts: OnnxFacts,
  variant: PlannedVariant,
  model: string,
): readonly SizedInput[] | ConversionFailure {
  const inputs: SizedInput[] = [];
  for (const input of facts.inputs) {
    const { elementType, name, shape } = input;
    const wrong = (problem: string, reason: FailureReason = 'shapeInvalid') =>
      conversionFailure(reason, `${model}: input "${name}" is ${problem}`);
    if (NPY_TYPES[elementType] === undefined) {
      return wrong(`${elementType}, which numpy does not support`, 'conversionFailed');
    }
    const sized = sizedInput(input, variant.calibration?.shapes[name], 1);
    if (typeof sized === 'string') return wrong(sized);
    if (sized === null) {
      const advice = `say with which sizes it is calibrated: shapes in calibration ({${name}: 1x3x224x224}), or --calibration-shapes ${name}:1x3x224x224`;
      return wrong(`${shapeText(shape)}: ${advice}`);
    }
    inputs.push(sized);
  }
  return inputs;
}

/**
 * The first mistake in the calibration data, or null. ModelOpt would show a traceback or nothing.
 * @param steps shapes of one step, if known
 */
export function checkCalibration(
  arrays: readonly ArrayFacts[],
  { inputs }: Pick<OnnxFacts, 'inputs'>,
  steps: Shapes,
): string | null {
  const names = inputs.map(({ name }) => name);
  const [only] = arrays;
  const named = only?.name === '' ? [{ ...only, name: names[0] ?? '' }] : arrays;
  const extra = named.find(({ name }) => !names.includes(name));
  if (extra !== undefined) return `the model ${noInput(extra.name, inputs)}`;
  for (const input of inputs) {
    const array = named.find(({ name }) => name === input.name);
    if (array === undefined) return `there is no array for the input "${input.name}"`;
    const problem = arrayProblem(array, input, steps[input.name]);
    if (problem !== null) return `${input.name}: ${problem}`;
  }
  const samples = named.map(({ name, shape }) => `${name} ${shape[0]}`);
  return new Set(named.map(({ shape }) => shape[0])).size > 1
    ? `the inputs have different numbers of samples: ${samples.join(', ')}`
    : null;
}

/** @param step shape of one step. The first dimension counts samples, regardless of the model. */
function arrayProblem(
  { descr, notFinite, shape }: ArrayFacts,
  { elementType, shape: wanted }: OnnxTensorInfo,
  step: readonly number[] | undefined,
): string | null {
  if (descr !== NPY_TYPES[elementType]) {
    const is = Object.entries(NPY_TYPES).find(([, name]) => name === descr)?.[0] ?? descr;
    return `it is ${is}, and the model takes ${elementType}: save it with .astype("${elementType}")`;
  }
  if (notFinite > 0) return `${notFinite} values are not finite (NaN or infinity)`;
  if (!shapeFits(wanted, shape, 1)) return `it is ${shapeText(shape)}, and the model takes ${shapeText(wanted)}`;
  const [samples = 0] = shape;
  const [batch = 1] = step ?? [];
  if (samples < batch) return `${samples} samples are fewer than one step of ${batch}`;
  return step === undefined || shapeFits(step, shape, 1)
    ? null
    : `it is ${shapeText(shape)}, and one step is ${shapeText(step)}`;
}
