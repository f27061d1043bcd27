import { expect, test } from 'vitest';

import { binsFor, binsOver, countIn } from '../../src/statistics/histogram.ts';

/** Quantiles of an exponential distribution: skewed, as the times of queries are. */
const SKEWED = Array.from({ length: 400 }, (_, index) => 1 - 0.01 * Math.log(1 - (index + 0.5) / 400));

// numpy: np.histogram(SKEWED, np.linspace(from, from + 12 * width, 13)), width = (np.quantile(SKEWED, .995) - from) / 10
test('counts are those of numpy.histogram over the same bins', () => {
  const bins = binsOver([SKEWED], 12);
  expect(bins.from).toBeCloseTo(1.0000125078190165, 12);
  expect(bins.width).toBeCloseTo(0.00507647716145101, 12);
  expect(countIn(SKEWED, bins)).toEqual({ counts: [160, 95, 58, 35, 20, 13, 8, 4, 3, 2, 0, 1], beyond: 1 });
});

// numpy: ceil((q(0.995) - min) / (2 (q(0.75) - q(0.25)) / cbrt(400))) + 2, q = np.quantile of SKEWED
test('bins are as wide as Freedman and Diaconis say, and at most as many as there is room for', () => {
  expect(binsFor([SKEWED], 200).count).toBe(20);
  expect(binsFor([SKEWED], 12)).toEqual(binsOver([SKEWED], 12));
});
