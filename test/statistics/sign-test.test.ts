import { expect, test } from 'vitest';

import { signTestP } from '../../src/statistics/sign-test.ts';

// Python: min(1, 2 * sum(math.comb(n, i) for i in range(max(k, n - k), n + 1)) / 2**n), as scipy.stats.binomtest has it
test.each([
  [60, 72, 8.055498526741105e-9],
  [8, 10, 0.109375],
  [2, 10, 0.109375],
  [5, 10, 1],
  [0, 7, 0.015625],
  [0, 0, 1],
])('%d of %d', (positive, trials, p) => {
  const found = signTestP(positive, trials);
  expect(Math.abs(found / p - 1)).toBeLessThan(1e-6);
});
