import { expect, test } from 'vitest';

import { judgeLatest } from '../../../src/judge/history/judge-latest.ts';
import { plainHistory } from '../../support/plain-history.ts';
import { normals } from '../../support/simulated-store.ts';

test('a cell that was reported wrongly before waits for the fifth sweep', () => {
  const normal = normals(5);
  const values = Array.from({ length: 46 }, (_, sweep) => (sweep < 40 ? 2 : 2.1) * (1 + 0.002 * normal()));
  const reportedAfter = (wrongBefore: number): number | undefined =>
    [1, 2, 3, 4, 5, 6].find(
      (off) => judgeLatest(plainHistory(values.slice(0, 40 + off)), { reported: [], wrongBefore }).news.length > 0,
    );
  expect([reportedAfter(0), reportedAfter(1)]).toEqual([3, 5]);
});
