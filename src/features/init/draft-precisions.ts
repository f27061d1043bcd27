import { isFlagIn } from '../../trtexec/flags/flag-table.ts';
import type { DraftPrecision } from './matrix-draft.ts';
import type { OnnxFacts } from '../../tools/onnx/facts.ts';
import type { Precision } from '../../records/cell.ts';
import { isAtLeast, type TensorrtVersion } from '../../text/version.ts';

export interface Possibilities {
  /** Null when unknown: then only what every version supports is proposed. */
  readonly version: TensorrtVersion | null;
  readonly hasModelopt: boolean;
}

/** A model's own precision, or why it has none that trtexec supports. */
export function ownPrecision(facts: OnnxFacts): Precision | null {
  const [quantized] = facts.quantizedTypes;
  if (facts.quantizeNodes + facts.dequantizeNodes > 0 && quantized !== undefined) {
    const { elementType } = quantized;
    if (elementType.startsWith('float8')) return 'fp8';
    if (/^u?int8$/.test(elementType)) return 'int8';
    if (/^u?int4$/.test(elementType)) return 'int4';
    return null;
  }
  const most = [
    ...facts.weights.toSorted((a, b) => b.bytes - a.bytes),
    // A model without weights computes in the type of its inputs.
    ...facts.inputs,
  ].find(({ elementType }) => /^b?float(?:16|32)$/.test(elementType));
  if (most?.elementType === 'float16') return 'fp16';
  return most?.elementType === 'bfloat16' ? 'bf16' : 'fp32';
}

export function canRun(precision: Precision, version: TensorrtVersion | null): boolean {
  if (version === null || precision === 'fp32' || precision === 'tf32') return true;
  // From 11 on there are no precision flags: the model decides.
  return version.major >= 11 || isFlagIn(`--${precision}`, version);
}

export function draftPrecisions(own: Precision, { version, hasModelopt }: Possibilities) {
  const self: DraftPrecision = { precision: own, source: { kind: 'word', word: 'onnx' }, why: 'the model as it is' };
  if (own !== 'fp32') return { chosen: [self], others: [] };
  const made = (['fp16', 'bf16', 'int8', 'fp8', 'int4'] as const)
    .filter((precision) => canRun(precision, version))
    .flatMap((precision) => route(precision, version, hasModelopt));
  return {
    chosen: [self, ...made.filter(({ precision }) => precision === 'fp16')],
    others: made.filter(({ precision }) => precision !== 'fp16'),
  };
}

function route(
  precision: 'fp16' | 'bf16' | 'int8' | 'fp8' | 'int4',
  version: TensorrtVersion | null,
  hasModelopt: boolean,
): DraftPrecision[] {
  const isFloat = precision === 'fp16' || precision === 'bf16';
  if (isFloat && version !== null && !isAtLeast(version, '11.0')) {
    const why = `by trtexec's --${precision}, which TensorRT 11 no longer has`;
    return [{ precision, source: { kind: 'word', word: 'flag' }, why }];
  }
  if (!hasModelopt) return [];
  const [word, tool] = isFloat ? (['autocast', 'AutoCast'] as const) : (['modelopt', 'quantization'] as const);
  const data = isFloat ? '' : ', on random data: speed only';
  return [{ precision, source: { kind: 'word', word }, why: `made by ModelOpt's ${tool}${data}` }];
}
