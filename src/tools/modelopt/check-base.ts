import { conversionFailure, type ConversionFailure } from '../../records/conversion.ts';
import type { FailureReason } from '../../records/outcome.ts';
import type { PlannedVariant } from '../../records/plan.ts';
import { didYouMean } from '../../text/nearest.ts';
import { noInput, shapeText, sizedInput } from '../onnx/facts.ts';
import type { OnnxFacts, SizedInput } from '../onnx/facts.ts';

/** numpy has no bfloat16 and no float8. */
const OF_NUMPY = /^(?:float(?:16|32|64)|u?int(?:8|16|32|64)|bool)$/;

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
    if (!OF_NUMPY.test(elementType)) {
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
