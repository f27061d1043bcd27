import { describe, expect, test } from 'vitest';

import { type NoiseRun, sweepRunsOf, withoutCopies } from '../../../src/features/noise/cell-noise.ts';
import { UNKNOWN_ENVIRONMENT } from '../../../src/records/environment.ts';
import { simulatedCells } from '../../support/simulated-store.ts';
import { NO_VALUES } from '../../support/no-values.ts';

const [CELL] = simulatedCells(1);
if (CELL === undefined) throw new Error('one cell was asked for');
const KEY = CELL.key;
const ENVIRONMENTS = new Map([
  ['e', { ...UNKNOWN_ENVIRONMENT, gpuName: 'H200', tensorrt: '10.6.0', gpuUuid: 'a' }],
  ['twin', { ...UNKNOWN_ENVIRONMENT, gpuName: 'H200', tensorrt: '10.6.0', gpuUuid: 'b' }],
  ['next', { ...UNKNOWN_ENVIRONMENT, gpuName: 'H200', tensorrt: '11.0.0' }],
]);
const SWEEPS = ['s1', 's2'];

function run(sweepId: string, gpuComputeMs: number, more: Partial<NoiseRun> = {}): NoiseRun {
  return {
    cellKey: KEY,
    sweepId,
    role: 'timed',
    outcome: { kind: 'measured' },
    buildId: 'b',
    environmentId: 'e',
    values: { ...NO_VALUES, gpuComputeMs },
    centres: {},
    ...more,
  };
}

function sweepsOf(runs: readonly NoiseRun[]) {
  return CELL === undefined ? [] : sweepRunsOf(CELL, null, SWEEPS, runs, ENVIRONMENTS);
}

describe('the runs of a cell, sweep by sweep', () => {
  test('are those that were measured', () => {
    const failed = run('s1', 9, { outcome: { kind: 'failed' } });
    const profile = run('s1', 9, { role: 'profile' });
    const found = sweepsOf([run('s1', 1), failed, profile, run('s1', 2), run('s2', 3)]);
    expect(found.map(({ place, values }) => [place, values])).toEqual([
      [0, [1, 2]],
      [1, [3]],
    ]);
  });

  test('are centres only when every run has one', () => {
    const centred = (sweepId: string, ms: number) => run(sweepId, ms, { centres: { gpuComputeMs: ms + 0.5 } });
    expect(sweepsOf([centred('s1', 1), centred('s2', 2)]).map(({ values }) => values)).toEqual([[1.5], [2.5]]);
    expect(sweepsOf([centred('s1', 1), run('s2', 2)]).map(({ values }) => values)).toEqual([[1], [2]]);
  });

  test('of another engine in the same sweep are left out, of a twin GPU they count', () => {
    const runs = [run('s1', 1, { buildId: 'old' }), run('s1', 2), run('s1', 3, { environmentId: 'twin' })];
    expect(sweepsOf(runs).map(({ values }) => values)).toEqual([[2, 3]]);
  });

  test('of another TensorRT major than the newest are another history', () => {
    const runs = [run('s1', 1), run('s2', 2, { environmentId: 'next' })];
    expect(sweepsOf(runs).map(({ place }) => place)).toEqual([1]);
  });
});

test('recordings that were answered from twice count once', () => {
  const runs = [run('s1', 1), run('s1', 2), run('s2', 2), run('s2', 1), run('s3', 1)];
  expect(withoutCopies(['s1', 's2', 's3', 's4', 's5'], runs)).toEqual(['s1', 's3', 's4', 's5']);
});
