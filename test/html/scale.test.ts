import { expect, test } from 'vitest';

import { rangeOf } from '../../src/html/browser/scale.ts';

test('an axis has room round its values, but none above the whole of a share', () => {
  const [least, most] = rangeOf([0.9, 1], null);
  expect(least).toBeCloseTo(0.892, 9);
  expect(most).toBeCloseTo(1.008, 9);
  expect(rangeOf([0.9, 1], 1)).toEqual([least, 1]);
  expect(rangeOf([], 1)).toEqual([0, 1]);
});
