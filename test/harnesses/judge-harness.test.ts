import { expect, test } from 'vitest';

import { judgeHarness } from '../../src/artefacts/read/read-harness.ts';

const ENDED = { exitCode: 1, signal: null, timedOut: false, limit: null, cancelled: false, logTooLong: false };
const FAULTY = { kind: 'faulty', problem: 'report.json: the process did not write it' } as const;

test('a process that failed without a word on standard error: what its driver saw', () => {
  const evidence = [{ text: 'exit code 1: report.json: the process did not write it' }];
  expect(judgeHarness(FAULTY, ENDED, null, [])).toMatchObject({ kind: 'failed', reason: 'unknown', evidence });
});

test('its last line there says more', () => {
  const line = { stream: 'stderr', line: 7, text: 'torch.OutOfMemoryError: CUDA out of memory' } as const;
  const evidence = [line, { text: 'exit code 1' }];
  expect(judgeHarness(FAULTY, ENDED, line, [])).toMatchObject({ kind: 'failed', reason: 'outOfMemory', evidence });
});
