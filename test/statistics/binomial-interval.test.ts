import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { binomialInterval } from '../../src/statistics/student-t.ts';

// Numbers from scipy 1.17.1; the call stands above each block.

function expectClose(actual: readonly number[], expected: readonly number[]): void {
  for (const [i, value] of expected.entries()) {
    expect(Math.abs((actual[i] ?? Number.NaN) - value)).toBeLessThanOrEqual(1e-9 * value);
  }
}

describe("scipy.stats.binomtest(k, n).proportion_ci(0.95, 'exact')", () => {
  test.each([
    [0, 2592, 0, 0.0014221665633935318],
    [0, 1, 0, 0.975],
    [1, 1, 0.025000000000000022, 1],
    [0, 10, 0, 0.30849710781876294],
    [3, 36, 0.017526495923934547, 0.22468976055697318],
    [5, 10, 0.1870860284474045, 0.8129139715525955],
    [17, 12960, 0.0007643099565723479, 0.0020993762132076174],
    [95, 12960, 0.005934538191483438, 0.008953531922260335],
    [36, 36, 0.9026062440854073, 1],
  ])('k = %i, n = %i', (k, n, low, high) => expectClose(binomialInterval(k, n), [low, high]));
});

describe('scipy.stats.beta.ppf(.025, k, n - k + 1) and .ppf(.975, k + 1, n - k)', () => {
  test.each([
    [1.5, 30.25, 0.0035903444125041485, 0.19559712478881355],
    [0.4, 800, 9.156970660166705e-8, 0.005593055846791637],
  ])('k = %f, n = %f', (k, n, low, high) => expectClose(binomialInterval(k, n), [low, high]));
});

test('the share itself lies inside, counting the other way turns it round, more trials narrow it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5000 }), fc.double({ min: 0, max: 1 }), (n, share) => {
      const k = Math.min(n, Math.floor(share * (n + 1)) || 0);
      const [low, high] = binomialInterval(k, n);
      expect(low).toBeLessThanOrEqual(k / n);
      expect(high).toBeGreaterThanOrEqual(k / n);
      const [others, most] = binomialInterval(n - k, n);
      expect(others).toBeCloseTo(1 - high, 9);
      expect(most).toBeCloseTo(1 - low, 9);
      const [longLow, longHigh] = binomialInterval(4 * k, 4 * n);
      expect(longHigh - longLow).toBeLessThan(high - low);
    }),
  );
});
