import { describe, expect, test } from 'vitest';

import { cellSeries, type NoiseRun, withoutCopies } from '../../../src/features/noise/cell-series.ts';
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
const SWEEPS = ['s1', 's2'].map((sweepId) => ({ sweepId, commit: 'c', dirty: false }));

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

function sweepsOf(runs: readonly NoiseRun[], sweeps = SWEEPS) {
  return CELL === undefined ? [] : cellSeries([CELL], sweeps, runs, ENVIRONMENTS, null).flatMap((one) => one.sweeps);
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
    expect(found[0]?.origin).toBe(found[1]?.origin);
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

  test('without a build they are the same when the commit is', () => {
    const runs = [run('s1', 1, { buildId: null }), run('s2', 2, { buildId: null })];
    const same = sweepsOf(runs).map(({ origin }) => origin);
    expect(new Set(same).size).toBe(1);
    expect(same[0]).not.toBeNull();
    const dirty = SWEEPS.map((sweep) => ({ ...sweep, dirty: true }));
    expect(sweepsOf(runs, dirty).map(({ origin }) => origin)).toEqual([null, null]);
  });
});

test('recordings that were answered from twice count once', () => {
  const runs = [run('s1', 1), run('s1', 2), run('s2', 2), run('s2', 1), run('s3', 1)];
  const sweeps = ['s1', 's2', 's3', 's4', 's5'].map((sweepId) => ({ sweepId }));
  expect(withoutCopies(sweeps, runs).map(({ sweepId }) => sweepId)).toEqual(['s1', 's3', 's4', 's5']);
});
