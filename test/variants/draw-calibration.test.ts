import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { ROOT, temporaryFolder } from '../support/bench.ts';
import { NEEDS_PYTHON, TEST_PYTHON } from '../support/python.ts';

const INPUTS = [
  { name: 'pixels $x', descr: '<f4', shape: [2, 3, 9, 7] },
  { name: 'hälf', descr: '<f2', shape: [2, 500] },
  { name: 'double', descr: '<f8', shape: [3] },
  { name: 'ids', descr: '<i8', shape: [2, 8] },
  { name: 'mask', descr: '|b1', shape: [2, 8] },
  { name: 'scalar', descr: '<f4', shape: [] },
];

/** Path of the file that the helper writes. */
function drawn(seed: number, samples: number, inputs: readonly object[]): string {
  const path = join(temporaryFolder(), 'calibration.npz');
  const args = [
    join(ROOT, 'python', 'draw_calibration.py'),
    String(seed),
    String(samples),
    JSON.stringify(inputs),
    path,
  ];
  execFileSync(TEST_PYTHON ?? '', args);
  return path;
}

test.skipIf(TEST_PYTHON === null).each([
  [1, 'd0981b5639525a22b12c3d563d737fe865d59c7cb7434cc3bb716cb8a3038731'],
  [4_294_967_295, 'cd212f7db45ebe3aa1066dea42cb7aa724f84b3742c53442df1a0d80a865b5f3'],
])(`the same bytes on every machine, seed %i (${NEEDS_PYTHON})`, (seed, sha256) => {
  const bytes = readFileSync(drawn(seed, 5, INPUTS));
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256);
});
