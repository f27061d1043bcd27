import { execFileSync } from 'node:child_process';

import { expect, test } from 'vitest';

import { NEEDS_PYTHON, TEST_PYTHON } from '../../support/python.ts';

/** Operator, shapes of its inputs and of its output, attributes, FLOPs. */
const CASES = [
  // 2 x 112 x 112 x 64 outputs, each of 7 x 7 x 3 multiplications.
  ['Conv', [[2, 3, 224, 224], [64, 3, 7, 7], [64]], [2, 64, 112, 112], {}, 2 * 1_605_632 * 147],
  // Depthwise: one channel for each output.
  [
    'Conv',
    [
      [1, 32, 8, 8],
      [32, 1, 3, 3],
    ],
    [1, 32, 8, 8],
    { group: 32 },
    2 * 2048 * 9,
  ],
  // One dimension, as in audio.
  [
    'Conv',
    [
      [1, 4, 10],
      [8, 4, 3],
    ],
    [1, 8, 8],
    {},
    2 * 64 * 12,
  ],
  [
    'ConvTranspose',
    [
      [1, 4, 5, 5],
      [4, 2, 2, 2],
    ],
    [1, 2, 10, 10],
    {},
    2 * 100 * 8,
  ],
  [
    'MatMul',
    [
      [8, 197, 768],
      [768, 3072],
    ],
    [8, 197, 3072],
    {},
    2 * 8 * 197 * 3072 * 768,
  ],
  [
    'MatMul',
    [
      [8, 12, 197, 64],
      [8, 12, 64, 197],
    ],
    [8, 12, 197, 197],
    {},
    2 * 8 * 12 * 197 * 197 * 64,
  ],
  ['MatMul', [[5, 3], [3]], [5], {}, 2 * 5 * 3],
  ['Gemm', [[8, 512], [1000, 512], [1000]], [8, 1000], { transB: 1 }, 2 * 8 * 1000 * 512],
  [
    'Gemm',
    [
      [512, 8],
      [512, 1000],
    ],
    [8, 1000],
    { transA: 1 },
    2 * 8 * 1000 * 512,
  ],
  [
    'Einsum',
    [
      [2, 5, 3],
      [2, 3, 7],
    ],
    [2, 5, 7],
    { equation: 'bij,bjk->bik' },
    2 * 2 * 5 * 3 * 7,
  ],
  [
    'Einsum',
    [
      [5, 3],
      [3, 7],
    ],
    [5, 7],
    { equation: 'ij,jk' },
    2 * 5 * 3 * 7,
  ],
  [
    'Einsum',
    [
      [2, 3],
      [3, 4],
    ],
    [2, 4],
    { equation: '...i,ij->...j' },
    null,
  ],
  [
    'LSTM',
    [
      [10, 2, 8],
      [1, 64, 8],
      [1, 64, 16],
    ],
    [10, 1, 2, 16],
    { hidden_size: 16 },
    2 * 20 * (512 + 1024),
  ],
  ['Softmax', [[2, 8]], [2, 8], {}, 0],
  ['NonZero', [[3]], null, {}, 0],
  ['MatMul', [null, [3, 7]], null, {}, null],
  ['If', [[1]], [3], {}, null],
  ['vendor::Plugin', [[3]], [3], {}, null],
];

const SCRIPT = `
import json, sys
sys.path.insert(0, "python")
import onnx, measure_work
def one(operator, inputs, output, attributes, _):
    domain, _, op = operator.rpartition("::")
    node = onnx.helper.make_node(op, [str(i) for i in range(len(inputs))], ["y"], domain=domain, **attributes)
    return measure_work.flops(onnx, node, inputs, output)
print(json.dumps([one(*case) for case in json.loads(sys.argv[1])]))
`;

test.skipIf(TEST_PYTHON === null)(`FLOPs of operators (${NEEDS_PYTHON})`, () => {
  const printed = execFileSync(TEST_PYTHON ?? '', ['-c', SCRIPT, JSON.stringify(CASES)], { encoding: 'utf8' });
  const names = CASES.map(([operator]) => operator);
  const flops: unknown[] = JSON.parse(printed);
  expect(names.map((name, place) => [name, flops[place]])).toEqual(CASES.map((one) => [one[0], one[4]]));
});
