import { expect, test } from 'vitest';

import { chooseSuspects, confirmBudgetS } from '../../../../src/features/run/suspects/suspect-pairs.ts';
import type { Candidate } from '../../../../src/judge/gate/judge-sweep.ts';

function candidate(cellKeys: readonly string[], stated: Partial<Candidate> = {}): Candidate {
  return {
    cellKeys,
    metric: 'gpuComputeMs',
    changePercent: 3,
    deviations: 5,
    lastGoodSweepId: null,
    isUnsteady: false,
    ...stated,
  };
}

function chosen(candidates: readonly Candidate[], budgetS: number) {
  const found = chooseSuspects(candidates, budgetS, () => 1);
  const keys = (suspects: typeof found.chosen): string => suspects.map(({ cellKey }) => cellKey).join('');
  return [keys(found.chosen), keys(found.leftOut)];
}

const SINGLES = ['a', 'b', 'c', 'd', 'e'].map((key) => candidate([key]));

test('five pairs and two runs that are thrown away cost twelve runs; three suspects are always measured, a cell of a group once', () => {
  expect(chosen(SINGLES, 0)).toEqual(['abc', 'de']);
  expect(chosen(SINGLES, 47)).toEqual(['abc', 'de']);
  expect(chosen(SINGLES, 48)).toEqual(['abcd', 'e']);
  expect(chosen(SINGLES, 60)).toEqual(['abcde', '']);
  expect(chosen([candidate(['c', 'e', 'a']), ...SINGLES], 60)).toEqual(['ceabd', '']);
});

test('an unsteady cell costs eight pairs', () => {
  const unsteady = SINGLES.map((each) => ({ ...each, isUnsteady: true }));
  expect(chosen(unsteady, 71)).toEqual(['abc', 'de']);
  expect(chosen(unsteady, 72)).toEqual(['abcd', 'e']);
});

test('a tenth of the sweep, another share, or a time', () => {
  expect([confirmBudgetS(null, 3600), confirmBudgetS({ kind: 'share', percent: 25 }, 3600)]).toEqual([360, 900]);
  expect(confirmBudgetS({ kind: 'time', seconds: 1200 }, 3600)).toBe(1200);
});
