import { expect, test } from 'vitest';

import { readReport } from '../../../src/tools/nvidia-smi/nvidia-smi.ts';
import { stubSmi } from '../../support/nvidia-smi.ts';

test('what nvidia-smi says is read', async () => {
  expect(await readReport(stubSmi().env)).toMatchObject({ gpus: [{ name: 'NVIDIA H200', architecture: 'Hopper' }] });
});

test.each([
  [null, 'not found on PATH'],
  ['NVIDIA-SMI has failed.', 'NVIDIA-SMI has failed.'],
  ['', expect.stringContaining('Command failed')],
])('a failure is an answer, too: %j', async (fails, reason) => {
  expect(await readReport(fails === null ? { PATH: '/nowhere' } : stubSmi({ fails }).env)).toEqual(reason);
});
