import { expect, test } from 'vitest';

import { readReport } from '../../../src/tools/nvidia-smi/nvidia-smi.ts';
import { stubSmi } from '../../support/nvidia-smi.ts';

test('what nvidia-smi says is read', async () => {
  expect(await readReport(stubSmi().env)).toMatchObject({ gpus: [{ name: 'NVIDIA H200', architecture: 'Hopper' }] });
});

test.each([
  [{ PATH: '/nowhere' }, 'it is not installed'],
  [
    stubSmiLater("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."),
    `"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."`,
  ],
  [stubSmiLater(''), 'it failed'],
])('a failure is an answer, too', async (env, reason) => {
  expect(await readReport(typeof env === 'function' ? env() : env)).toBe(reason);
});

/** A stub lives as long as its test. */
function stubSmiLater(fails: string) {
  return () => stubSmi({ fails }).env;
}
