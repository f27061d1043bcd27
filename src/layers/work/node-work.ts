import type { OnnxNode, OnnxTensor } from '../../tools/onnx/network.ts';
import { einsumSizes } from './einsum.ts';
import { elementsOf } from './infer-shapes.ts';
import { type Input, kernelOf, numberIn } from './shape-rules.ts';

/** Floating-point operations of one node; a multiplication with its addition is two. */
export interface NodeWork {
  /** Of matrix products and convolutions, which tensor cores do. */
  readonly matrixFlops: number;
  /** Of all else: a function such as exp counts as one. */
  readonly otherFlops: number;
}

interface Tensors {
  readonly node: OnnxNode;
  readonly inputs: readonly Input[];
  readonly first: OnnxTensor;
  /** Elements of the first output. */
  readonly elements: number;
  /** Of the first input. */
  readonly elementsIn: number;
}

/** Null where a shape that counts is not known. */
type Formula = (tensors: Tensors) => number | null;

/** FLOPs of matrix products. A bias is among the others. */
const MATRIX: Readonly<Record<string, Formula>> = {
  Conv: ({ elements, inputs: [, weights] }) => 2 * elements * perOutput(weights),
  ConvTranspose: ({ elementsIn, inputs: [, weights] }) => 2 * elementsIn * perOutput(weights),
  MatMul: ({ elements, first }) => 2 * elements * (first.shape.at(-1) ?? 1),
  MatMulInteger: ({ elements, first }) => 2 * elements * (first.shape.at(-1) ?? 1),
  Gemm: ({ elements, first, node }) => 2 * elements * (first.shape[1 - numberIn(node, 'transA', 0)] ?? 1),
  Einsum: ({ inputs, node }) => {
    const sizes = einsumSizes(node, inputs);
    return sizes === null || sizes.terms > 2 ? null : (sizes.terms === 1 ? 0 : 2) * elementsOf(sizes.all);
  },
  LSTM: recurrent,
  GRU: recurrent,
  RNN: recurrent,
};

const BIASED = new Set(['Conv', 'ConvTranspose', 'Gemm']);

/** Operations for each element that is put out; of operators that are not here, one. */
const PER_OUTPUT: Readonly<Record<string, number>> = {
  BatchNormalization: 2,
  Gelu: 5,
  GroupNormalization: 7,
  HardSwish: 4,
  InstanceNormalization: 7,
  LayerNormalization: 7,
  LogSoftmax: 5,
  RMSNormalization: 4,
  Sigmoid: 3,
  SimplifiedLayerNormalization: 4,
  Softmax: 5,
  Swish: 4,
};

/** They move elements, or a builder folds them into what comes before or after. */
const NONE = new Set(
  'Cast Concat Constant ConstantOfShape DepthToSpace DequantizeLinear Dropout Expand Flatten Gather GatherElements GatherND Identity OneHot Pad QuantizeLinear Range Reshape ScatterElements ScatterND Shape Size Slice SpaceToDepth Split Squeeze Tile TopK Transpose Trilu Unsqueeze Where'.split(
    ' ',
  ),
);

/** What they do lies in other graphs, or hangs on values. */
const UNKNOWN = new Set(
  'Attention ConvInteger DFT DeformConv If Loop QLinearConv QLinearMatMul STFT Scan SequenceMap'.split(' '),
);

/** Null where its shapes are not known, or its operator is none of ONNX. */
export function nodeWork(node: OnnxNode, known: ReadonlyMap<string, OnnxTensor>): NodeWork | null {
  const { opType } = node;
  if (NONE.has(opType) || /^trt::TRT_\w+(?:Q|Deq)uantizeLinear$/.test(opType)) return { matrixFlops: 0, otherFlops: 0 };
  const inputs = node.inputs.map((name) => (name === '' ? null : known.get(name)));
  const output = known.get(node.outputs[0] ?? '');
  const [first] = inputs;
  if (opType.includes('::') || UNKNOWN.has(opType) || first === undefined || first === null || output === undefined)
    return null;
  if (inputs.includes(undefined)) return null;
  const tensors = { node, inputs, first, elements: elementsOf(output.shape), elementsIn: elementsOf(first.shape) };
  const formula = MATRIX[opType];
  if (formula === undefined) return { matrixFlops: 0, otherFlops: otherFlops(tensors) };
  const matrixFlops = formula(tensors);
  const isBiased = BIASED.has(opType) && (inputs[2] ?? null) !== null;
  return matrixFlops === null ? null : { matrixFlops, otherFlops: isBiased ? tensors.elements : 0 };
}

function otherFlops({ elements, elementsIn, node, inputs }: Tensors): number {
  const { opType } = node;
  if (/^(?:Reduce|Arg|Global)/.test(opType)) return elementsIn;
  if (opType.endsWith('Pool')) return elements * elementsOf(kernelOf(node, inputs[1]) ?? []);
  if (opType === 'Resize' || opType === 'Upsample') return node.attributes.get('mode') === 'linear' ? 8 * elements : 0;
  return elements * (PER_OUTPUT[opType] ?? 1);
}

/** Multiplications for each output of a convolution; for each input of a transposed one. */
function perOutput(weights: Input): number {
  return weights ? elementsOf(weights.shape) / (weights.shape[0] ?? 1) : Number.NaN;
}

/** Both products of all gates, directions and steps. */
function recurrent({ first, inputs: [, weights, recurrence] }: Tensors): number | null {
  const [length, batch] = first.shape;
  if (length === undefined || batch === undefined || !weights || !recurrence) return null;
  return 2 * length * batch * (elementsOf(weights.shape) + elementsOf(recurrence.shape));
}

/** Operators that read only what they put out of their first input. */
const PICKS = new Set(['Gather', 'GatherElements', 'GatherND', 'Slice']);

/** Of its first input; null for all. */
export function elementsPicked({ opType, outputs: [output = ''] }: OnnxNode, known: ReadonlyMap<string, OnnxTensor>) {
  const picked = PICKS.has(opType) ? known.get(output) : undefined;
  return picked === undefined ? null : elementsOf(picked.shape);
}
