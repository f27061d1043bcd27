import { expect, test } from 'vitest';

import { askForReport, whyNoReport } from '../../../src/tools/nvidia-smi/nvidia-smi.ts';
import { stubSmi } from '../../support/nvidia-smi.ts';

test('what nvidia-smi says comes back as it is', async () => {
  const answer = await askForReport(stubSmi().env);
  expect(answer).toEqual({ kind: 'answered', text: expect.stringContaining('<product_name>NVIDIA H200'), stderr: '' });
});

test.each([
  [{ PATH: '/nowhere' }, 'it is not installed'],
  [
    stubSmiLater("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."),
    `"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."`,
  ],
  [stubSmiLater(''), 'it failed'],
])('a failure is an answer, too', async (env, reason) => {
  const answer = await askForReport(typeof env === 'function' ? env() : env);
  expect(answer.kind === 'answered' ? null : whyNoReport(answer)).toBe(reason);
});

/** A stub lives as long as its test. */
function stubSmiLater(fails: string) {
  return () => stubSmi({ fails }).env;
}
