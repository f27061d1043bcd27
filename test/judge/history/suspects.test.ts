import { expect, test } from 'vitest';

import { judgeLatest } from '../../../src/judge/history/judge-latest.ts';
import { plainHistory } from '../../support/plain-history.ts';
import { normals } from '../../support/simulated-store.ts';

const normal = normals(5);
const QUIET = Array.from({ length: 40 }, () => 2 * (1 + 0.002 * normal()));

test.each([
  ['a quiet night', QUIET, null],
  ['one night of 10 % more', [...QUIET, 2.2], { nights: 1, changePercent: 10 }],
  ['two', [...QUIET, 2.2, 2.2], { nights: 2, changePercent: 10 }],
  ['three', [...QUIET, 2.2, 2.2, 2.2], { nights: 3, changePercent: 10 }],
  ['one night of 10 % less', [...QUIET, 1.8], { nights: 1, changePercent: -10 }],
  ['half a percent', [...QUIET, 2.01], null],
  ['a bad night that is over', [...QUIET, 2.2, 2], null],
  ['where a night was before', [...QUIET, 2.2, ...QUIET.slice(0, 20), 2.19], null],
  ['up, then down: only the last', [...QUIET, 2.2, 1.8], { nights: 1, changePercent: -10 }],
  ['a history that is too short', [...QUIET.slice(0, 19), 2.2], null],
])('%s', (_, values, expected) => {
  const { suspected: off } = judgeLatest(plainHistory(values), []);
  if (expected === null) expect(off).toBeNull();
  else {
    expect(off?.sweeps).toBe(expected.nights);
    expect(off?.changePercent).toBeCloseTo(expected.changePercent, 0);
    expect(off?.before).toBeCloseTo(2, 2);
  }
});
