import { expect, test } from 'vitest';

import { readReport } from '../../../src/tools/nvidia-smi/nvidia-smi.ts';
import { stubSmi } from '../../support/nvidia-smi.ts';

test.each([
  [null, 'not found on PATH'],
  ['NVIDIA-SMI has failed.', 'NVIDIA-SMI has failed.'],
  ['', 'it failed with exit code 9 and printed nothing'],
])('a failure is an answer, too: %j', async (fails, reason) => {
  expect(await readReport(fails === null ? { PATH: '/nowhere' } : stubSmi({ fails }).env)).toEqual(reason);
});
