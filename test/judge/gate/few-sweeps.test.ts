import { expect, test } from 'vitest';

import { falseRate, foundAtOnce } from '../../../benchmarks/gate/simulate-few-sweeps.ts';

// The full figures: node benchmarks/few-sweeps.ts
test('few sweeps without a change are seldom an alarm: 2 % with pairs, 8 % without', () => {
  expect(falseRate(8, true, 4, 100)).toBeLessThanOrEqual(0.02);
  expect(falseRate(2, false, 12, 100)).toBeLessThanOrEqual(0.08);
});

test('3 % in one of 40 cells is reported in the sweep in which it begins', () => {
  expect(foundAtOnce(3, true, 2, 200)).toBe(1);
});
