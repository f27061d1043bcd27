import { expect, test } from 'vitest';

import { KNOWN_VARIABLES, storedVariables } from '../../../src/process/environment-variables.ts';
import { isSecretName } from '../../../src/text/redact.ts';
import { marked } from '../../../src/trtexec/fitness/find-flags.ts';

test('a perfect router is an upper bound with invalid outputs', () => {
  expect(marked({ env: { ENABLE_PERFECT_ROUTER: '1' }, marks: [] })).toEqual([
    {
      id: 'upperBound',
      effect: 'barred',
      value: null,
      evidence: 'ENABLE_PERFECT_ROUTER=1: all experts get the same load, as with no real router',
    },
    {
      id: 'invalidOutput',
      effect: 'barred',
      value: null,
      evidence: "ENABLE_PERFECT_ROUTER=1: the router's decisions are thrown away",
    },
  ]);
});

test.each(['', '0', 'false', 'OFF', 'no'])('a switch is off at "%s"', (value) => {
  expect(marked({ env: { TLLM_NVTX_DEBUG: value, CUDA_LAUNCH_BLOCKING: value }, marks: [] })).toEqual([]);
});

test('profiling switches together are one flag with all of them', () => {
  const env = { TLLM_PROFILE_START_STOP: '100-150', TLLM_TORCH_PROFILE_TRACE: '0', PATH: '/bin' };
  expect(marked({ env, marks: [] }).map(({ id, evidence }) => [id, evidence])).toEqual([
    [
      'profilingOn',
      "TLLM_PROFILE_START_STOP=100-150: the profiler is turned on and off within the run; TLLM_TORCH_PROFILE_TRACE=0: PyTorch's profiler writes a trace",
    ],
  ]);
});

test('every known variable is stored when it is set, and none is a secret', () => {
  const names = KNOWN_VARIABLES.map(({ name }) => name);
  const env = Object.fromEntries([...names, 'HF_TOKEN', 'HOME'].map((name) => [name, 'value']));
  expect(Object.keys(storedVariables(env)).toSorted()).toEqual(names.toSorted());
  expect(names.filter(isSecretName)).toEqual([]);
});
