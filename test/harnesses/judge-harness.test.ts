import { expect, test } from 'vitest';

import { torchTensorrtDriver } from '../../src/harnesses/torch-tensorrt.ts';
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

test('a median above the maximum is no measurement, as in a log of trtexec', () => {
  const block = ['Mean: 4.5', 'Median: 5.5', 'Min: 4', 'Max: 5.2', 'P90: 5', 'P95: 5', 'P99: 5.1'].join('\n');
  const [report] = torchTensorrtDriver.reports(`Latency over 40 runs (ms):\n${block}`, 'out.txt');
  const outcome = judgeHarness(report?.result ?? FAULTY, { ...ENDED, exitCode: 0 }, null, []);
  expect(outcome).toMatchObject({ reason: 'suspectErrors', evidence: [{ text: expect.stringContaining('5.5 ms') }] });
});
