import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';

import { afterEach, expect, test, vi } from 'vitest';

import { bench, temporaryFolder } from '../support/bench.ts';
import { STUB, stubMatrix } from '../support/stub.ts';

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

test.each([
  [1.9, [expect.stringMatching(/^note: small fp16: 1.90 GiB of host memory free, a build needs about 2.00 GiB$/)]],
  [2.1, []],
])('a build with %s GiB of host memory free: less than a builder needs is told', async (gib, told) => {
  vi.spyOn(os, 'freemem').mockReturnValue(gib * 2 ** 30);
  syncBuiltinESMExports();
  const folder = temporaryFolder();
  const run = await bench(['run', stubMatrix(folder), '--trtexec', STUB, '--no-telemetry'], { cwd: folder });
  expect([run.code, run.stderr.split('\n').filter((line) => line.includes('host memory'))]).toEqual([0, told]);
});
