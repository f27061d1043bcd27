import { printable } from '../../text/printable.ts';

/** An input or output of an engine, as far as anybody says. */
export interface EngineBinding {
  readonly name: string;
  /** As TensorRT's inspector or ONNX names it; null: not known. */
  readonly type: string | null;
  /** -1 for a dynamic dimension; null: not known. */
  readonly shape: readonly number[] | null;
}

export interface TritonModel {
  readonly label: string;
  readonly runId: string;
  readonly provenance: string;
  readonly throughputQps: number | null;
  readonly gpuName: string | null;
  readonly tensorrt: string | null;
  /** Where the inputs and outputs come from, in words. */
  readonly source: string;
  readonly inputs: readonly EngineBinding[];
  readonly outputs: readonly EngineBinding[];
  /** The largest leading dimension that all inputs share; null when it is fixed, or differs. */
  readonly maxBatch: number | null;
  readonly cudaGraph: boolean;
  readonly streams: number;
}

/** By the names of TensorRT's inspector and of ONNX; those that Triton has none for are not here. */
const TYPES: Readonly<Record<string, string>> = {
  fp32: 'TYPE_FP32',
  fp16: 'TYPE_FP16',
  bf16: 'TYPE_BF16',
  int64: 'TYPE_INT64',
  int32: 'TYPE_INT32',
  int8: 'TYPE_INT8',
  uint8: 'TYPE_UINT8',
  bool: 'TYPE_BOOL',
  float32: 'TYPE_FP32',
  float16: 'TYPE_FP16',
  bfloat16: 'TYPE_BF16',
  int16: 'TYPE_INT16',
  float64: 'TYPE_FP64',
};

/** A minimal `config.pbtxt`. What is left out, Triton reads from the engine itself. */
export function tritonConfig(model: TritonModel): string {
  const { cudaGraph, inputs, maxBatch, outputs, streams } = model;
  const blocks = [
    comments(model).join('\n'),
    ['platform: "tensorrt_plan"', `max_batch_size: ${maxBatch ?? 0}`].join('\n'),
    ...tensorBlock('input', inputs, maxBatch),
    ...tensorBlock('output', outputs, maxBatch),
    ...(cudaGraph ? ['optimization { cuda { graphs: true } }'] : []),
    ...(streams > 1 ? [`instance_group [ { count: ${streams}, kind: KIND_GPU } ]`] : []),
  ];
  return `${blocks.join('\n')}\n`;
}

/** What a person has to look at. */
export function tritonUnknowns({ inputs, outputs, maxBatch }: TritonModel): string[] {
  const all = [...inputs, ...outputs];
  const left = all.filter((binding) => !isKnown(binding)).map(({ name }) => `"${name}"`);
  return [
    ...(inputs.length === 0 ? ['inputs are not known and left out: Triton reads them from the engine'] : []),
    ...(outputs.length === 0 ? ['outputs are not known and left out: Triton reads them from the engine'] : []),
    ...(left.length === 0
      ? []
      : [
          `type or shape of ${left.join(', ')} is not known to bench or has no name in Triton: left out, Triton reads it from the engine`,
        ]),
    ...(maxBatch === null
      ? ['the leading dimension is fixed, not shared or not known: max_batch_size is 0, dims are whole']
      : []),
  ];
}

function comments(model: TritonModel): string[] {
  const { gpuName, label, provenance, runId, source, tensorrt, throughputQps } = model;
  const speed = throughputQps === null ? '' : `, ${throughputQps.toPrecision(4)} queries/s (${provenance})`;
  return [
    `# ${printable(label)}: run ${printable(runId)}${speed}`,
    `# Put it beside a folder 1 with the engine: NAME/config.pbtxt, NAME/1/model.plan`,
    `# A plan loads only on its GPU and TensorRT: ${printable(gpuName ?? 'unknown GPU')}, TensorRT ${printable(tensorrt ?? 'unknown')}`,
    `# Inputs and outputs: ${printable(source)}`,
  ];
}

function isKnown({ shape, type }: EngineBinding): boolean {
  return shape !== null && type !== null && TYPES[type] !== undefined;
}

function tensorBlock(name: 'input' | 'output', bindings: readonly EngineBinding[], maxBatch: number | null): string[] {
  // Triton takes all tensors of a kind or fills in all of them.
  if (bindings.length === 0 || !bindings.every(isKnown)) return [];
  const tensors = bindings.map(({ name: tensor, shape, type }) => {
    const dims = (maxBatch === null ? shape : shape?.slice(1)) ?? [];
    return `  { name: "${pbtxt(tensor)}", data_type: ${TYPES[type ?? ''] ?? ''}, dims: [ ${dims.join(', ')} ] }`;
  });
  return [`${name} [\n${tensors.join(',\n')}\n]`];
}

/** Text as protobuf's text format reads it back. */
function pbtxt(text: string): string {
  return Array.from(text.toWellFormed(), (character) => {
    if (character === '"' || character === '\\') return `\\${character}`;
    if (printable(character) === character) return character;
    return [...Buffer.from(character)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
  }).join('');
}
