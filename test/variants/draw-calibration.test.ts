import { execFileSync } from 'node:child_process';
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

test.skipIf(TEST_PYTHON === null)(`equal seeds give equal bytes, others do not (${NEEDS_PYTHON})`, () => {
  const [bytes, same, other] = [1, 1, 4_294_967_295].map((seed) => readFileSync(drawn(seed, 5, INPUTS)));
  expect(same).toEqual(bytes);
  expect(other).not.toEqual(bytes);
});
