import type { OnnxNode, OnnxTensor } from '../../tools/onnx/network.ts';
import { einsumSizes } from './einsum.ts';

/** Null for an optional input that is left out; undefined for one of which nothing is known. */
export type Input = OnnxTensor | null | undefined;
type Output = OnnxTensor | null;
type Rule = (node: OnnxNode, inputs: readonly Input[], first: OnnxTensor) => readonly Output[];

/**
 * Types and shapes that a node puts out, by the rules of ONNX; none where its operator has no rule here, or where they
 * depend on values that are not known.
 */
export function shapeRule(node: OnnxNode, inputs: readonly Input[]): readonly Output[] {
  const rule = RULES.get(node.opType);
  if (rule === undefined) return [];
  const first = inputs[0] ?? NOTHING;
  return rule(node, inputs, first);
}

const NOTHING: OnnxTensor = { elementType: 'undefined', shape: [], values: null };

/** Values are computed of shapes only, never of images. */
const MOST_VALUES = 1024;

const UNARY =
  'Abs Acos Acosh Asin Asinh Atan Atanh BatchNormalization Ceil Celu Clip Cos Cosh CumSum DequantizeLinear Dropout Elu Erf Exp FakeQuantize Floor Gelu GroupNormalization HardSigmoid HardSwish Hardmax Identity InstanceNormalization LRN LayerNormalization LeakyRelu Log LogSoftmax LpNormalization MeanVarianceNormalization Mish Neg Not PRelu QuantizeLinear RMSNormalization Reciprocal Relu Round ScatterElements ScatterND Selu Shrink Sigmoid Sign SimplifiedLayerNormalization Sin Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu';

const BROADCAST =
  'Add Sub Mul Div Pow Mod Max Min Sum Mean And Or Xor Equal Greater GreaterOrEqual Less LessOrEqual BitwiseAnd BitwiseOr BitwiseXor BitShift';

const REDUCE =
  'ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare';

const COMPARING = new Set(['Equal', 'Greater', 'GreaterOrEqual', 'Less', 'LessOrEqual', 'Not']);

const ARITHMETIC: Readonly<Record<string, (a: number, b: number) => number>> = {
  Add: (a, b) => a + b,
  Sub: (a, b) => a - b,
  Mul: (a, b) => a * b,
  Div: (a, b) => a / b,
  Mod: (a, b) => ((a % b) + b) % b,
  Max: Math.max,
  Min: Math.min,
  Equal: (a, b) => Number(a === b),
  Greater: (a, b) => Number(a > b),
  Less: (a, b) => Number(a < b),
};

const ROUNDING: Readonly<Record<string, (value: number) => number>> = {
  Identity: (value) => value,
  Ceil: Math.ceil,
  Floor: Math.floor,
  Sqrt: Math.sqrt,
  Neg: (value) => -value,
  Not: (value) => 1 - value,
};

const RULES = new Map<string, Rule>([
  ...UNARY.split(' ').map((op): [string, Rule] => [op, unary]),
  ...['TRT_FP8', 'TRT_INT4', 'TRT_FP4'].flatMap((type) =>
    ['QuantizeLinear', 'DequantizeLinear'].map((op): [string, Rule] => [`trt::${type}${op}`, unary]),
  ),
  ...BROADCAST.split(' ').map((op): [string, Rule] => [op, broadcast]),
  ...REDUCE.split(' ').map((op): [string, Rule] => [op, reduce]),
  ['ArgMax', argument],
  ['ArgMin', argument],
  ['AveragePool', window],
  ['MaxPool', window],
  ['LpPool', window],
  ['Cast', cast],
  ['Concat', concat],
  ['Constant', constant],
  ['ConstantOfShape', (_, [shape]) => made('float32', shape?.values)],
  ['Conv', window],
  ['ConvTranspose', transposedWindow],
  ['DepthToSpace', (node, _, { elementType, shape }) => blocks(elementType, shape, numberIn(node, 'blocksize', 1))],
  ['Einsum', (node, inputs, { elementType }) => made(elementType, einsumSizes(node, inputs)?.output)],
  ['Expand', (_, [data, shape]) => like(data, shape?.values && broadcastShape([data?.shape ?? [], shape.values]))],
  ['Flatten', flatten],
  ['GRU', recurrent],
  ['Gather', gather],
  ['GatherElements', (_, [data, indices]) => like(data, indices?.shape)],
  ['GatherND', gatherNd],
  ['Gemm', gemm],
  ['GlobalAveragePool', (_, __, { elementType, shape }) => made(elementType, pooled(shape))],
  ['GlobalMaxPool', (_, __, { elementType, shape }) => made(elementType, pooled(shape))],
  ['LSTM', recurrent],
  ['MatMul', (_, [a, b]) => like(a, matMulShape(a?.shape, b?.shape))],
  ['MatMulInteger', (_, [a, b]) => made('int32', matMulShape(a?.shape, b?.shape))],
  ['Pad', pad],
  ['RNN', recurrent],
  ['Range', range],
  ['Reshape', reshape],
  ['Resize', resize],
  ['Shape', shapeOf],
  ['Size', (_, __, { shape }) => made('int64', [], [product(shape)])],
  ['Slice', slice],
  ['SpaceToDepth', (node, _, { elementType, shape }) => blocks(elementType, shape, 1 / numberIn(node, 'blocksize', 1))],
  ['Split', split],
  ['Squeeze', squeeze],
  [
    'Tile',
    (_, [data, repeats]) =>
      like(data, repeats?.values && data?.shape.map((size, axis) => size * (repeats.values?.[axis] ?? 1))),
  ],
  ['TopK', topK],
  ['Transpose', transpose],
  ['Unsqueeze', unsqueeze],
  ['Upsample', resize],
  ['Where', (_, [condition, a, b]) => where(condition, a, b)],
]);

export function numberIn({ attributes }: OnnxNode, name: string, otherwise: number): number {
  const value = attributes.get(name);
  return typeof value === 'number' ? value : otherwise;
}

/** Null where it is not given. */
function numbersIn({ attributes }: OnnxNode, name: string): readonly number[] | null {
  const value = attributes.get(name);
  return Array.isArray(value) ? value : null;
}

function product(sizes: readonly number[]): number {
  return sizes.reduce((result, size) => result * size, 1);
}

function made(
  elementType: string,
  shape: readonly number[] | null | undefined,
  values: readonly number[] | null = null,
): Output[] {
  if (shape === null || shape === undefined) return [null];
  const isSmall = values !== null && values.length === product(shape) && values.length <= MOST_VALUES;
  return [{ elementType, shape, values: isSmall ? values : null }];
}

function like(input: Input, shape: readonly number[] | null | undefined): Output[] {
  return input === null || input === undefined ? [null] : made(input.elementType, shape);
}

function replaced(shape: readonly number[], axis: number, size: number): number[] {
  return shape.map((old, place) => (place === axis ? size : old));
}

/** @param axis may count from the end */
function placeOf(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}

function unary(
  { opType }: OnnxNode,
  [, second]: readonly Input[],
  { elementType, shape, values }: OnnxTensor,
): Output[] {
  const compute = ROUNDING[opType];
  // The zero point has the type that a tensor is quantized to; the scale that which it has afterwards.
  const type = opType.endsWith('DequantizeLinear') ? (second?.elementType ?? elementType) : elementType;
  return made(type, shape, compute === undefined ? null : (values?.map(compute) ?? null));
}

function broadcastShape(shapes: readonly (readonly number[])[]): number[] {
  const rank = Math.max(...shapes.map(({ length }) => length));
  return Array.from({ length: rank }, (_, axis) => {
    const sizes = shapes.map((shape) => shape[axis - rank + shape.length] ?? 1);
    return sizes.find((size) => size !== 1) ?? 1;
  });
}

function broadcast({ opType }: OnnxNode, inputs: readonly Input[], { elementType }: OnnxTensor): Output[] {
  const given = inputs.flatMap((input) => input ?? []);
  const compute = ARITHMETIC[opType];
  const [a, b] = given.map(({ values }) => values);
  const values =
    compute === undefined || !a || !b || given.length !== 2
      ? null
      : Array.from({ length: Math.max(a.length, b.length) }, (_, place) => {
          const value = compute(a[place % a.length] ?? Number.NaN, b[place % b.length] ?? Number.NaN);
          return elementType.startsWith('int') ? Math.trunc(value) : value;
        });
  return made(COMPARING.has(opType) ? 'bool' : elementType, broadcastShape(given.map(({ shape }) => shape)), values);
}

function where(condition: Input, a: Input, b: Input): Output[] {
  if (!condition || !a || !b) return [null];
  const shape = broadcastShape([condition.shape, a.shape, b.shape]);
  const [which, x, y] = [condition.values, a.values, b.values];
  const values =
    which && x && y
      ? Array.from({ length: product(shape) }, (_, place) => {
          const chosen = which[place % which.length] === 0 ? y : x;
          return chosen[place % chosen.length] ?? 0;
        })
      : null;
  return made(a.elementType, shape, values);
}

function axesOf(node: OnnxNode, given: Input, rank: number): number[] | null {
  if (given !== null && given !== undefined && given.values === null) return null;
  const axes = given?.values ?? numbersIn(node, 'axes');
  return axes?.map((axis) => placeOf(axis, rank)) ?? null;
}

function reduce(node: OnnxNode, [, given]: readonly Input[], { elementType, shape, values }: OnnxTensor): Output[] {
  if (given && given.values === null) return [null];
  const axes = axesOf(node, given, shape.length);
  const isNone = (axes?.length ?? 0) === 0;
  if (isNone && numberIn(node, 'noop_with_empty_axes', 0) === 1) return made(elementType, shape);
  const keeps = numberIn(node, 'keepdims', 1) === 1;
  const left = shape.flatMap((size, axis) => (!isNone && axes?.includes(axis) === false ? size : keeps ? 1 : []));
  const all = values !== null && node.opType === 'ReduceProd' && product(left) === 1 ? [product(values)] : null;
  return made(elementType, left, all);
}

function argument(node: OnnxNode, _: readonly Input[], { shape }: OnnxTensor): Output[] {
  const axis = placeOf(numberIn(node, 'axis', 0), shape.length);
  const keeps = numberIn(node, 'keepdims', 1) === 1;
  return made(
    'int64',
    shape.flatMap((size, place) => (place === axis ? (keeps ? 1 : []) : size)),
  );
}

/** Of convolutions the kernel is the shape of the weights. */
export function kernelOf(node: OnnxNode, weights: Input): readonly number[] | null {
  return numbersIn(node, 'kernel_shape') ?? weights?.shape.slice(2) ?? null;
}

function window(node: OnnxNode, [, weights]: readonly Input[], { elementType, shape }: OnnxTensor): Output[] {
  const kernel = kernelOf(node, weights);
  if (kernel === null) return [null];
  const [strides, dilations, pads] = ['strides', 'dilations', 'pads'].map((name) => numbersIn(node, name));
  const mode = node.attributes.get('auto_pad') ?? 'NOTSET';
  const round = numberIn(node, 'ceil_mode', 0) === 1 ? Math.ceil : Math.floor;
  const sizes = kernel.map((size, axis) => {
    const [length, stride] = [shape[axis + 2] ?? Number.NaN, strides?.[axis] ?? 1];
    if (mode === 'SAME_UPPER' || mode === 'SAME_LOWER') return Math.ceil(length / stride);
    const padded = mode === 'VALID' ? 0 : (pads?.[axis] ?? 0) + (pads?.[axis + kernel.length] ?? 0);
    const reach = (size - 1) * (dilations?.[axis] ?? 1) + 1;
    return round((length + padded - reach) / stride) + 1;
  });
  const channels = node.opType === 'Conv' ? weights?.shape[0] : shape[1];
  return made(elementType, [shape[0] ?? Number.NaN, channels ?? Number.NaN, ...sizes]);
}

function transposedWindow(node: OnnxNode, [, weights]: readonly Input[], { elementType, shape }: OnnxTensor): Output[] {
  const kernel = kernelOf(node, weights);
  if (kernel === null) return [null];
  const numbers = (name: string): readonly number[] | null => numbersIn(node, name);
  const [strides, dilations, pads] = [numbers('strides'), numbers('dilations'), numbers('pads')];
  const mode = node.attributes.get('auto_pad') ?? 'NOTSET';
  const sizes =
    numbers('output_shape')?.slice(-kernel.length) ??
    kernel.map((size, axis) => {
      const [length, stride] = [shape[axis + 2] ?? Number.NaN, strides?.[axis] ?? 1];
      if (mode === 'SAME_UPPER' || mode === 'SAME_LOWER') return length * stride;
      const cut = (pads?.[axis] ?? 0) + (pads?.[axis + kernel.length] ?? 0);
      const reach = (size - 1) * (dilations?.[axis] ?? 1) + 1;
      return (length - 1) * stride + (numbers('output_padding')?.[axis] ?? 0) + reach - cut;
    });
  const channels = (weights?.shape[1] ?? Number.NaN) * numberIn(node, 'group', 1);
  return made(elementType, [shape[0] ?? Number.NaN, channels, ...sizes]);
}

function cast(node: OnnxNode, _: readonly Input[], { shape, values }: OnnxTensor): Output[] {
  const type = numberIn(node, 'to', 0);
  const isWhole = WHOLE_TYPES.has(type);
  return made(CAST_TYPES[type] ?? 'undefined', shape, isWhole ? (values?.map(Math.trunc) ?? null) : values);
}

/** Of `TensorProto.DataType`. */
const CAST_TYPES: Readonly<Record<number, string>> = {
  1: 'float32',
  2: 'uint8',
  3: 'int8',
  6: 'int32',
  7: 'int64',
  9: 'bool',
  10: 'float16',
  11: 'float64',
  16: 'bfloat16',
  17: 'float8e4m3fn',
};
const WHOLE_TYPES = new Set([2, 3, 6, 7]);

function concat(node: OnnxNode, inputs: readonly Input[], { elementType, shape }: OnnxTensor): Output[] {
  const axis = placeOf(numberIn(node, 'axis', 0), shape.length);
  const given = inputs.flatMap((input) => input ?? []);
  const total = given.reduce((sum, input) => sum + (input.shape[axis] ?? Number.NaN), 0);
  const values = given.every((input) => input.values !== null) ? given.flatMap((input) => input.values ?? []) : null;
  return made(elementType, replaced(shape, axis, total), shape.length === 1 ? values : null);
}

function constant({ attributes }: OnnxNode): Output[] {
  const value = attributes.get('value');
  if (typeof value === 'object' && 'shape' in value) return [value];
  const one = attributes.get('value_int');
  if (typeof one === 'number') return made('int64', [], [one]);
  const some = attributes.get('value_ints');
  return Array.isArray(some) ? made('int64', [some.length], some) : [null];
}

function blocks(
  elementType: string,
  [batch = Number.NaN, channels = Number.NaN, ...sizes]: readonly number[],
  block: number,
): Output[] {
  return made(elementType, [batch, channels / block ** 2, ...sizes.map((size) => size * block)]);
}

function flatten(node: OnnxNode, _: readonly Input[], { elementType, shape }: OnnxTensor): Output[] {
  const axis = placeOf(numberIn(node, 'axis', 1), shape.length);
  return made(elementType, [product(shape.slice(0, axis)), product(shape.slice(axis))]);
}

function gather(node: OnnxNode, [data, indices]: readonly Input[]): Output[] {
  if (!data || !indices) return [null];
  const axis = placeOf(numberIn(node, 'axis', 0), data.shape.length);
  const shape = [...data.shape.slice(0, axis), ...indices.shape, ...data.shape.slice(axis + 1)];
  const { values } = data;
  const picked =
    values !== null && data.shape.length === 1
      ? (indices.values?.map((place) => values.at(place) ?? Number.NaN) ?? null)
      : null;
  return made(data.elementType, shape, picked);
}

function gatherNd(node: OnnxNode, [data, indices]: readonly Input[]): Output[] {
  const depth = indices?.shape.at(-1);
  if (!data || !indices || depth === undefined) return [null];
  const from = numberIn(node, 'batch_dims', 0) + depth;
  return made(data.elementType, [...indices.shape.slice(0, -1), ...data.shape.slice(from)]);
}

function gemm(node: OnnxNode, [a, b]: readonly Input[]): Output[] {
  const rows = a?.shape[numberIn(node, 'transA', 0)];
  const columns = b?.shape[1 - numberIn(node, 'transB', 0)];
  return rows === undefined || columns === undefined ? [null] : like(a, [rows, columns]);
}

function matMulShape(a: readonly number[] | undefined, b: readonly number[] | undefined): number[] | null {
  if (a === undefined || b === undefined || a.length === 0 || b.length === 0) return null;
  const outer = broadcastShape([a.slice(0, -2), b.slice(0, -2)]);
  return [...outer, ...a.slice(-2, -1), ...(b.length === 1 ? [] : b.slice(-1))];
}

function pooled([batch = Number.NaN, channels = Number.NaN, ...sizes]: readonly number[]): number[] {
  return [batch, channels, ...sizes.map(() => 1)];
}

function pad(node: OnnxNode, [data, given, , axes]: readonly Input[]): Output[] {
  const pads = given?.values ?? numbersIn(node, 'pads');
  if (!data || !pads || (axes && axes.values === null)) return [null];
  const rank = data.shape.length;
  const padded = axes?.values?.map((axis) => placeOf(axis, rank)) ?? data.shape.map((_, axis) => axis);
  return like(
    data,
    data.shape.map((size, axis) => {
      const place = padded.indexOf(axis);
      return place === -1 ? size : size + (pads[place] ?? 0) + (pads[place + padded.length] ?? 0);
    }),
  );
}

function range(_: OnnxNode, [start, limit, delta]: readonly Input[]): Output[] {
  const [from, to, step] = [start, limit, delta].map((input) => input?.values?.[0]);
  if (from === undefined || to === undefined || step === undefined) return [null];
  const length = Math.max(0, Math.ceil((to - from) / step));
  const values = length <= MOST_VALUES ? Array.from({ length }, (__, place) => from + place * step) : null;
  return made(start?.elementType ?? 'int64', [length], values);
}

function recurrent(node: OnnxNode, [, , weights]: readonly Input[], { elementType, shape }: OnnxTensor): Output[] {
  const [length, batch, directions, hidden] = [shape[0], shape[1], weights?.shape[0], weights?.shape[2]];
  if (length === undefined || batch === undefined || directions === undefined || hidden === undefined) return [null];
  if (numberIn(node, 'layout', 0) === 1) return [null];
  const last = made(elementType, [directions, batch, hidden]);
  return [...made(elementType, [length, directions, batch, hidden]), ...last, ...last];
}

function reshape(node: OnnxNode, [data, given]: readonly Input[]): Output[] {
  const asked = given?.values ?? numbersIn(node, 'shape');
  if (!data || !asked) return [null];
  const keepsZero = numberIn(node, 'allowzero', 0) === 1;
  const sizes = asked.map((size, axis) => (size === 0 && !keepsZero ? (data.shape[axis] ?? Number.NaN) : size));
  const known = product(sizes.filter((size) => size !== -1));
  const shape = sizes.map((size) => (size === -1 ? product(data.shape) / known : size));
  return made(data.elementType, shape, data.values);
}

function resize(_: OnnxNode, inputs: readonly Input[], { elementType, shape }: OnnxTensor): Output[] {
  const isUpsample = inputs.length === 2;
  const [scales, sizes] = isUpsample ? [inputs[1], null] : [inputs[2], inputs[3]];
  if (sizes?.values?.length === shape.length) return made(elementType, sizes.values);
  const factors = scales?.values;
  return factors?.length === shape.length
    ? made(
        elementType,
        shape.map((size, axis) => Math.floor(size * (factors[axis] ?? 1))),
      )
    : [null];
}

function shapeOf(node: OnnxNode, _: readonly Input[], { shape }: OnnxTensor): Output[] {
  const sizes = shape.slice(numberIn(node, 'start', 0), numberIn(node, 'end', shape.length));
  return made('int64', [sizes.length], sizes);
}

function slice(node: OnnxNode, [data, ...given]: readonly Input[]): Output[] {
  if (!data || given.some((input) => input?.values === null)) return [null];
  const rank = data.shape.length;
  const [starts, ends] = [given[0]?.values ?? numbersIn(node, 'starts'), given[1]?.values ?? numbersIn(node, 'ends')];
  const axes = given[2]?.values ?? numbersIn(node, 'axes') ?? starts?.map((_, place) => place);
  if (!starts || !ends || !axes) return [null];
  const shape = [...data.shape];
  let { values } = data;
  axes.forEach((axis, place) => {
    const at = placeOf(axis, rank);
    const [size, step] = [shape[at] ?? Number.NaN, given[3]?.values?.[place] ?? 1];
    const clamp = (index: number): number =>
      Math.max(step > 0 ? 0 : -1, Math.min(step > 0 ? size : size - 1, index < 0 ? index + size : index));
    const [from, to] = [clamp(starts[place] ?? 0), clamp(ends[place] ?? 0)];
    const length = Math.max(0, Math.ceil((to - from) / step));
    values = rank === 1 && values !== null ? Array.from({ length }, (_, n) => values?.[from + n * step] ?? 0) : null;
    shape[at] = length;
  });
  return made(data.elementType, shape, values);
}

function split(node: OnnxNode, [data, given]: readonly Input[]): Output[] {
  if (!data || given?.values === null) return [];
  const axis = placeOf(numberIn(node, 'axis', 0), data.shape.length);
  const [size, parts] = [data.shape[axis] ?? Number.NaN, node.outputs.length];
  const each = Math.ceil(size / parts);
  const sizes = given?.values ?? numbersIn(node, 'split');
  return node.outputs.flatMap((_, place) =>
    like(data, replaced(data.shape, axis, sizes?.[place] ?? Math.min(each, size - place * each))),
  );
}

function squeeze(node: OnnxNode, [, given]: readonly Input[], { elementType, shape, values }: OnnxTensor): Output[] {
  if (given?.values === null) return [null];
  const axes = axesOf(node, given, shape.length);
  return made(
    elementType,
    shape.filter((size, axis) => (axes === null ? size !== 1 : !axes.includes(axis))),
    values,
  );
}

function unsqueeze(node: OnnxNode, [, given]: readonly Input[], { elementType, shape, values }: OnnxTensor): Output[] {
  const added = given?.values ?? numbersIn(node, 'axes');
  if (!added) return [null];
  const rank = shape.length + added.length;
  const axes = added.map((axis) => placeOf(axis, rank));
  const left = [...shape];
  return made(
    elementType,
    Array.from({ length: rank }, (_, axis) => (axes.includes(axis) ? 1 : (left.shift() ?? 1))),
    values,
  );
}

function topK(node: OnnxNode, [data, count]: readonly Input[]): Output[] {
  const most = count?.values?.[0];
  if (!data || most === undefined) return [null, null];
  const shape = replaced(data.shape, placeOf(numberIn(node, 'axis', -1), data.shape.length), most);
  return [...like(data, shape), ...made('int64', shape)];
}

function transpose(node: OnnxNode, _: readonly Input[], { elementType, shape }: OnnxTensor): Output[] {
  const order = numbersIn(node, 'perm') ?? shape.map((__, axis) => shape.length - 1 - axis);
  return made(
    elementType,
    order.map((axis) => shape[axis] ?? Number.NaN),
  );
}
