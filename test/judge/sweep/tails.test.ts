import { expect, it } from 'vitest';

import { heavyLogRatio, heavyTail, normalTail } from '../../../src/judge/sweep/cell-noise.ts';

// scipy.stats.norm.sf([.5, 1.5, 4]) * 2
it.each([
  [0.5, 6.17075077e-1],
  [1.5, 1.33614403e-1],
  [4, 6.33424837e-5],
])('normal tail at %f', (x, p) => expect(Math.abs(normalTail(x) / p - 1)).toBeLessThan(1e-3));

// scipy.stats.t.sf(numpy.array([.5, 1.5, 4, 8]) * sqrt(5 / 3), 5) * 2
it.each([
  [0.5, 5.47054328e-1],
  [1.5, 1.10566691e-1],
  [4, 3.5728263e-3],
  [8, 1.46409476e-4],
])('tail of t with 5 degrees and variance 1 at %f', (x, p) =>
  expect(Math.abs(heavyTail(x) / p - 1)).toBeLessThan(1e-3),
);

// scipy.stats.t.logpdf(x * sqrt(5 / 3), 5) + log(5 / 3) / 2 - scipy.stats.norm.logpdf(x), x = 0, 1, 3
it.each([
  [0, 0.205731756],
  [1, -0.157314461],
  [3, 0.546848673],
])('log density ratio at %f', (x, ratio) => expect(heavyLogRatio(x * x)).toBeCloseTo(ratio, 8));
