import { execFileSync } from 'node:child_process';

import { expect, test } from 'vitest';

import { NEEDS_PYTHON, TEST_PYTHON } from '../../support/python.ts';

/** Operator, shapes of its inputs and of its output, attributes, FLOPs; `?`: not known. */
const CASES: readonly (readonly [string, object, number | null])[] = [
  // 2 x 112 x 112 x 64 outputs, each of 7 x 7 x 3 multiplications.
  ['Conv 2x3x224x224 64x3x7x7 64 -> 2x64x112x112', {}, 2 * 1_605_632 * 147],
  // Depthwise: one channel for each output.
  ['Conv 1x32x8x8 32x1x3x3 -> 1x32x8x8', { group: 32 }, 2 * 2048 * 9],
  // One dimension, as in audio.
  ['Conv 1x4x10 8x4x3 -> 1x8x8', {}, 2 * 64 * 12],
  ['ConvTranspose 1x4x5x5 4x2x2x2 -> 1x2x10x10', {}, 2 * 100 * 8],
  ['MatMul 8x197x768 768x3072 -> 8x197x3072', {}, 2 * 8 * 197 * 3072 * 768],
  ['MatMul 8x12x197x64 8x12x64x197 -> 8x12x197x197', {}, 2 * 8 * 12 * 197 * 197 * 64],
  ['MatMul 5x3 3 -> 5', {}, 2 * 5 * 3],
  ['MatMul ? 3x7 -> ?', {}, null],
  ['Gemm 8x512 1000x512 1000 -> 8x1000', { transB: 1 }, 2 * 8 * 1000 * 512],
  ['Gemm 512x8 512x1000 -> 8x1000', { transA: 1 }, 2 * 8 * 1000 * 512],
  ['Einsum 2x5x3 2x3x7 -> 2x5x7', { equation: 'bij,bjk->bik' }, 2 * 2 * 5 * 3 * 7],
  ['Einsum 5x3 3x7 -> 5x7', { equation: 'ij,jk' }, 2 * 5 * 3 * 7],
  ['Einsum 2x3 3x4 -> 2x4', { equation: '...i,ij->...j' }, null],
  ['LSTM 10x2x8 1x64x8 1x64x16 -> 10x1x2x16', { hidden_size: 16 }, 2 * 20 * (512 + 1024)],
  ['Softmax 2x8 -> 2x8', {}, 0],
  ['NonZero 3 -> ?', {}, 0],
  ['If 1 -> 3', {}, null],
  ['vendor::Plugin 3 -> 3', {}, null],
];

const SCRIPT = `
import json, sys
sys.path.insert(0, "python")
import onnx, measure_work
def one(text, attributes, _):
    shape = lambda word: None if word == "?" else [int(size) for size in word.split("x")]
    operator, *inputs, _, output = text.split()
    domain, _, op = operator.rpartition("::")
    node = onnx.helper.make_node(op, [str(i) for i in range(len(inputs))], ["y"], domain=domain, **attributes)
    return measure_work.flops(onnx, node, [shape(word) for word in inputs], shape(output))
print(json.dumps([one(*case) for case in json.loads(sys.argv[1])]))
`;

test.skipIf(TEST_PYTHON === null)(`FLOPs of operators (${NEEDS_PYTHON})`, () => {
  const printed = execFileSync(TEST_PYTHON ?? '', ['-c', SCRIPT, JSON.stringify(CASES)], { encoding: 'utf8' });
  const flops: unknown[] = JSON.parse(printed);
  expect(CASES.map(([text], place) => [text, flops[place]])).toEqual(CASES.map(([text, , known]) => [text, known]));
});
