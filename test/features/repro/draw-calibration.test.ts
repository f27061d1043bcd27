import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { writeNpz } from '../../../src/variants/npz-write.ts';
import { randomCalibration } from '../../../src/variants/random-calibration.ts';
import { drawCalibration } from '../../../src/features/repro/conversion-script.ts';
import { temporaryFolder } from '../../support/bench.ts';

test.each([1, 4_294_967_295])('Python writes the same bytes as bench, seed %i', async (seed) => {
  const folder = temporaryFolder();
  const inputs = [
    { name: 'pixels $x', elementType: 'float32', descr: '<f4', shape: [2, 3, 9, 7] },
    { name: 'hälf', elementType: 'float16', descr: '<f2', shape: [2, 500] },
    { name: 'double', elementType: 'float64', descr: '<f8', shape: [3] },
    { name: 'ids', elementType: 'int64', descr: '<i8', shape: [2, 8] },
    { name: 'mask', elementType: 'bool', descr: '|b1', shape: [2, 8] },
    { name: 'scalar', elementType: 'float32', descr: '<f4', shape: [] },
  ];
  await writeNpz(join(folder, 'bench.npz'), randomCalibration(inputs, 5, seed));
  const drawn = JSON.stringify(inputs.map(({ descr, name, shape }) => ({ name, descr, shape })));
  const args = ['-', String(seed), '5', drawn, join(folder, 'python.npz')];
  execFileSync('python3', args, { input: drawCalibration() });
  const [a, b] = ['bench.npz', 'python.npz'].map((name) => readFileSync(join(folder, name)));
  expect(b?.equals(a ?? Buffer.alloc(0))).toBe(true);
});
