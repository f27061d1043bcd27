import { expect, test } from 'vitest';

import { nodeWork } from '../../../src/layers/work/node-work.ts';
import { shapeRule } from '../../../src/layers/work/shape-rules.ts';
import type { OnnxAttribute, OnnxNode, OnnxTensor } from '../../../src/tools/onnx/network.ts';

const tensor = (...shape: number[]): OnnxTensor => ({ elementType: 'float16', shape, values: null });
const ints = (...values: number[]): OnnxTensor => ({ elementType: 'int64', shape: [values.length], values });

function nodeOf(opType: string, inputs: number, attributes: Record<string, OnnxAttribute> = {}, outputs = 1): OnnxNode {
  const names = (count: number, of: string): string[] => Array.from({ length: count }, (_, place) => `${of}${place}`);
  return {
    name: 'n',
    opType,
    inputs: names(inputs, 'in'),
    outputs: names(outputs, 'out'),
    attributes: new Map(Object.entries(attributes)),
  };
}

/** Shape, FLOPs of matrix products and others of one node. */
function computed(
  opType: string,
  inputs: readonly (OnnxTensor | null)[],
  attributes: Record<string, OnnxAttribute> = {},
) {
  const named = nodeOf(opType, inputs.length, attributes);
  const node = { ...named, inputs: named.inputs.map((name, place) => (inputs[place] === null ? '' : name)) };
  const [output] = shapeRule(node, inputs);
  const known = new Map<string, OnnxTensor>(
    inputs.flatMap((input, place) => (input === null ? [] : [[`in${place}`, input] as const])),
  );
  if (output) known.set('out0', output);
  const work = nodeWork(node, known);
  return [output?.shape ?? null, work?.matrixFlops ?? null, work?.otherFlops ?? null];
}

test.each([
  // 2 x 112 x 112 x 64 outputs, each of 7 x 7 x 3 multiplications; a bias for each.
  [
    'Conv',
    [tensor(2, 3, 224, 224), tensor(64, 3, 7, 7), tensor(64)],
    { strides: [2, 2], pads: [3, 3, 3, 3] },
    [2, 64, 112, 112],
    2 * 1_605_632 * 147,
    1_605_632,
  ],
  // Depthwise: one channel for each output.
  [
    'Conv',
    [tensor(1, 32, 8, 8), tensor(32, 1, 3, 3)],
    { group: 32, pads: [1, 1, 1, 1] },
    [1, 32, 8, 8],
    2 * 2048 * 9,
    0,
  ],
  ['Conv', [tensor(1, 4, 9, 9), tensor(8, 4, 3, 3)], { dilations: [2, 2] }, [1, 8, 5, 5], 2 * 200 * 36, 0],
  [
    'Conv',
    [tensor(1, 4, 9, 9), tensor(8, 4, 3, 3)],
    { auto_pad: 'SAME_UPPER', strides: [2, 2] },
    [1, 8, 5, 5],
    2 * 200 * 36,
    0,
  ],
  ['Conv', [tensor(1, 4, 9, 9), tensor(8, 4, 3, 3)], { auto_pad: 'VALID' }, [1, 8, 7, 7], 2 * 392 * 36, 0],
  // One dimension, as in audio.
  ['Conv', [tensor(1, 4, 10), tensor(8, 4, 3)], {}, [1, 8, 8], 2 * 64 * 12, 0],
  ['ConvTranspose', [tensor(1, 4, 5, 5), tensor(4, 2, 2, 2)], { strides: [2, 2] }, [1, 2, 10, 10], 2 * 100 * 8, 0],
  ['MatMul', [tensor(8, 197, 768), tensor(768, 3072)], {}, [8, 197, 3072], 2 * 8 * 197 * 3072 * 768, 0],
  ['MatMul', [tensor(8, 12, 197, 64), tensor(8, 12, 64, 197)], {}, [8, 12, 197, 197], 2 * 8 * 12 * 197 * 197 * 64, 0],
  ['MatMul', [tensor(5, 3), tensor(3)], {}, [5], 2 * 5 * 3, 0],
  ['Gemm', [tensor(8, 512), tensor(1000, 512), tensor(1000)], { transB: 1 }, [8, 1000], 2 * 8 * 1000 * 512, 8000],
  ['Gemm', [tensor(512, 8), tensor(512, 1000)], { transA: 1 }, [8, 1000], 2 * 8 * 1000 * 512, 0],
  ['Einsum', [tensor(2, 5, 3), tensor(2, 3, 7)], { equation: 'bij,bjk->bik' }, [2, 5, 7], 2 * 2 * 5 * 3 * 7, 0],
  ['Einsum', [tensor(5, 3), tensor(3, 7)], { equation: 'ij,jk' }, [5, 7], 2 * 5 * 3 * 7, 0],
  [
    'LSTM',
    [tensor(10, 2, 8), tensor(1, 64, 8), tensor(1, 64, 16)],
    { hidden_size: 16 },
    [10, 1, 2, 16],
    2 * 20 * (512 + 1024),
    0,
  ],
  [
    'MaxPool',
    [tensor(1, 4, 112, 112)],
    { kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1] },
    [1, 4, 56, 56],
    0,
    4 * 56 * 56 * 9,
  ],
  ['AveragePool', [tensor(1, 4, 7, 7)], { kernel_shape: [2, 2], strides: [2, 2], ceil_mode: 1 }, [1, 4, 4, 4], 0, 256],
  ['GlobalAveragePool', [tensor(2, 512, 7, 7)], {}, [2, 512, 1, 1], 0, 2 * 512 * 49],
  ['ReduceMean', [tensor(2, 3, 4), ints(-1)], { keepdims: 0 }, [2, 3], 0, 24],
  ['ReduceSum', [tensor(2, 3, 4)], {}, [1, 1, 1], 0, 24],
  ['Add', [tensor(8, 1, 5), tensor(4, 1)], {}, [8, 4, 5], 0, 160],
  ['Softmax', [tensor(2, 8)], {}, [2, 8], 0, 80],
  ['LayerNormalization', [tensor(2, 8), tensor(8), tensor(8)], {}, [2, 8], 0, 112],
  ['Reshape', [tensor(2, 768, 14, 14), ints(0, 768, -1)], {}, [2, 768, 196], 0, 0],
  ['Transpose', [tensor(2, 3, 4)], { perm: [2, 0, 1] }, [4, 2, 3], 0, 0],
  ['Transpose', [tensor(2, 3, 4)], {}, [4, 3, 2], 0, 0],
  ['Gather', [tensor(5, 7), ints(1, 2, 3)], { axis: 1 }, [5, 3], 0, 0],
  ['Slice', [tensor(10, 7), ints(1), ints(-1), ints(0), ints(2)], {}, [4, 7], 0, 0],
  ['Slice', [tensor(10), ints(-1), ints(-11), ints(0), ints(-1)], {}, [10], 0, 0],
  ['Concat', [tensor(2, 3), tensor(2, 4)], { axis: -1 }, [2, 7], 0, 0],
  ['Expand', [tensor(1, 1, 5), ints(4, 3, 1)], {}, [4, 3, 5], 0, 0],
  ['Pad', [tensor(1, 3), ints(0, 1, 0, 2)], {}, [1, 6], 0, 0],
  ['Tile', [tensor(2, 3), ints(2, 2)], {}, [4, 6], 0, 0],
  ['Squeeze', [tensor(1, 3, 1), ints(0)], {}, [3, 1], 0, 0],
  ['Unsqueeze', [tensor(3), ints(0, 2)], {}, [1, 3, 1], 0, 0],
  ['Flatten', [tensor(2, 3, 4)], {}, [2, 12], 0, 0],
  ['DepthToSpace', [tensor(1, 12, 2, 2)], { blocksize: 2 }, [1, 3, 4, 4], 0, 0],
  ['SpaceToDepth', [tensor(1, 3, 4, 4)], { blocksize: 2 }, [1, 12, 2, 2], 0, 0],
  ['TopK', [tensor(2, 100), ints(5)], {}, [2, 5], 0, 0],
  [
    'Resize',
    [tensor(1, 3, 4, 4), null, { elementType: 'float32', shape: [4], values: [1, 1, 2, 2] }],
    {},
    [1, 3, 8, 8],
    0,
    0,
  ],
  ['Resize', [tensor(1, 3, 4, 4), null, null, ints(1, 3, 6, 6)], { mode: 'linear' }, [1, 3, 6, 6], 0, 8 * 108],
] as const)('%s %#', (opType, inputs, attributes, shape, matrix, other) => {
  expect(computed(opType, inputs, attributes)).toEqual([shape, matrix, other]);
});

test('what has no rule, hangs on values or is a plug-in is not known', () => {
  expect(computed('NonZero', [tensor(3)])).toEqual([null, null, null]);
  expect(computed('If', [tensor(1)])).toEqual([null, null, null]);
  expect(computed('vendor::Plugin', [tensor(3)])).toEqual([null, null, null]);
  expect(computed('Reshape', [tensor(2, 3), { elementType: 'int64', shape: [2], values: null }])[0]).toBeNull();
  expect(computed('Einsum', [tensor(2, 3), tensor(3, 4)], { equation: '...i,ij->...j' })).toEqual([null, null, null]);
});

test('shapes are computed through the values of small tensors', () => {
  const [shape] = shapeRule(nodeOf('Shape', 1), [tensor(8, 3, 224, 224)]);
  expect(shape?.values).toEqual([8, 3, 224, 224]);
  const [batch] = shapeRule(nodeOf('Gather', 2), [shape, { ...ints(0), shape: [] }]);
  expect([batch?.shape, batch?.values]).toEqual([[], [8]]);
  const [one] = shapeRule(nodeOf('Unsqueeze', 2), [batch, ints(0)]);
  const [target] = shapeRule(nodeOf('Concat', 2, { axis: 0 }), [one, ints(-1)]);
  expect(target?.values).toEqual([8, -1]);
  expect(shapeRule(nodeOf('Mul', 2), [one, ints(3)])[0]?.values).toEqual([24]);
  expect(shapeRule(nodeOf('Div', 2), [one, ints(3)])[0]?.values).toEqual([2]);
  expect(shapeRule(nodeOf('Range', 3), [ints(0), ints(6), ints(2)])[0]?.values).toEqual([0, 2, 4]);
  expect(shapeRule(nodeOf('Split', 1, { axis: 1 }, 3), [tensor(2, 7)]).map((part) => part?.shape)).toEqual([
    [2, 3],
    [2, 3],
    [2, 1],
  ]);
});
