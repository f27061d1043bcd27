import { describe, expect, test } from 'vitest';

import { assignGpus, comparedTogether } from '../../../src/matrix/plan/assign-gpus.ts';
import { planOfCells } from '../../support/plans.ts';

const [A, B, C] = ['GPU-a', 'GPU-b', 'GPU-c'];

describe('cells are shared out among GPUs', () => {
  test('the longest first, where there is the least to do', () => {
    const plan = planOfCells([
      { batch: 1, seconds: 10 },
      { batch: 2, seconds: 10 },
      { batch: 4, seconds: 40 },
      { batch: 8, seconds: 25 },
    ]);
    const keys = plan.cells.map(({ cell }) => cell.key);
    const assigned = assignGpus(plan, [A, B], new Map());
    // 40 | 25, then 10 and 10 beside the 25: 40 s and 45 s.
    expect(keys.map((key) => assigned[key])).toEqual([B, B, A, B]);
  });

  test('each goes where it was measured last, whatever that costs', () => {
    const plan = planOfCells([1, 2, 4, 8].map((batch) => ({ batch, seconds: 10 })));
    const keys = plan.cells.map(({ cell }) => cell.key);
    const previous = new Map(keys.map((key) => [key, B]));
    expect(Object.values(assignGpus(plan, [A, B, C], previous))).toEqual([B, B, B, B]);
    // That GPU is not used tonight.
    expect(new Set(Object.values(assignGpus(plan, [A, C], previous)))).toEqual(new Set([A, C]));
  });

  test('precisions and graph of one model and shape stay together', () => {
    const plan = planOfCells([
      { batch: 1, seconds: 10 },
      { batch: 1, seconds: 10, precision: 'fp8' },
      { batch: 1, seconds: 10, cudaGraph: false },
      { batch: 2, seconds: 10 },
    ]);
    const cells = plan.cells.map(({ cell }) => cell);
    expect(comparedTogether(cells).map((group) => group.length)).toEqual([3, 1]);
    const assigned = assignGpus(plan, [A, B], new Map());
    expect(cells.map(({ key }) => assigned[key])).toEqual([A, A, A, B]);
    // Two of the three were on B before: the third follows them.
    const previous = new Map(cells.map(({ key }, place) => [key, place === 2 ? A : B]));
    expect(cells.map(({ key }) => assignGpus(plan, [A, B], previous)[key])).toEqual([B, B, B, B]);
  });
});
