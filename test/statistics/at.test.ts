import { expect, test } from 'vitest';

import { at } from '../../src/statistics/order-statistics.ts';

test('a place outside of an array is an error, and no zero', () => {
  const values = Float64Array.of(3, 0, Number.NaN);
  expect([0, 1, 2].map((place) => at(values, place))).toEqual([3, 0, Number.NaN]);
  for (const place of [-1, 3, 0.5]) expect(() => at(values, place)).toThrow(`no number at ${place} of 3`);
});
