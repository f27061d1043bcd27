import { describe, expect, test } from 'vitest';

import type { FailureReason, Outcome } from '../../src/records/outcome.ts';
import { passingFailure, waitBeforeS } from '../../src/trtexec/failures.ts';

const failed = (reason: FailureReason): Outcome => ({ kind: 'failed', reason, evidence: [] });

describe('can pass', () => {
  test.each([
    ['Cuda failure: all CUDA-capable devices are busy or unavailable', 'the GPU was busy'],
    ['Cuda failure: 46', 'the GPU was busy'],
    ['Cuda failure at a.cpp:1: system not yet initialized', 'CUDA was not ready'],
    ['Error Code 1: Cuda Runtime (initialization error)', 'CUDA was not ready'],
    ['NVRM: Xid (PCI:0000:07:00): 79, GPU has fallen off the bus.', 'the GPU was lost'],
    ['Cuda failure: uncorrectable ECC error encountered', 'the GPU was lost'],
  ])('%s', (line, what) => expect(passingFailure(failed('cudaError'), [line], false)?.what).toBe(what));

  test.each([
    ['Cuda failure: 600', true],
    ['Error Code 1: Cuda Runtime (device not ready)', true],
    ['Cuda failure: system not yet initialized', false],
  ])('%s: at once: %s', (line, isOverAtOnce) => {
    expect(passingFailure(failed('cudaError'), [line], false)?.isOverAtOnce).toBe(isOverAtOnce);
    const retries = { times: 2, waitS: 30 };
    expect(waitBeforeS(retries, 2, isOverAtOnce)).toBe(isOverAtOnce ? 0 : 120);
    expect(waitBeforeS(retries, 3, isOverAtOnce)).toBeNull();
  });

  test('out of memory, when others hold memory of the GPU', () => {
    const line = 'Cuda failure: out of memory';
    expect(passingFailure(failed('outOfMemory'), [line], true)?.what).toBe('memory of the GPU was taken by others');
    expect(passingFailure(failed('outOfMemory'), [line], false)).toBeNull();
  });
});

describe('cannot pass', () => {
  test.each([
    ['modelInvalid', 'Failed to parse onnx file'],
    ['flagUnknown', 'Unknown option: --busy or unavailable'],
    ['cudaError', 'Cuda failure: an illegal memory access was encountered'],
    ['cudaError', 'Cuda failure: unspecified launch failure'],
    ['noGpu', 'Cuda failure: no CUDA-capable device is detected'],
    ['outOfMemory', 'Requested amount of GPU memory (1 bytes) could not be allocated.'],
    ['timeout', 'all CUDA-capable devices are busy or unavailable'],
  ] satisfies [FailureReason, string][])('%s: %s', (reason, line) => {
    expect(passingFailure(failed(reason), [line], false)).toBeNull();
  });

  test('a measurement', () => {
    expect(passingFailure({ kind: 'measured', evidence: [] }, ['GPU is lost'], true)).toBeNull();
  });
});

test('waits grow fourfold up to ten minutes, and end', () => {
  const retries = { times: 4, waitS: 30 };
  expect([1, 2, 3, 4, 5].map((retry) => waitBeforeS(retries, retry))).toEqual([30, 120, 480, 600, null]);
  expect(waitBeforeS({ times: 0, waitS: 30 }, 1)).toBeNull();
});
