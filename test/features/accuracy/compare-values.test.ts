import { expect, test } from 'vitest';

import { compareValues } from '../../../src/features/accuracy/compare-exports.ts';

test('figures worked out by hand', () => {
  const figures = compareValues([3, 4, 0, 2], [4, 3, 0, 2], [2, 2]);
  expect(figures).toEqual({
    sqnrDb: 10 * Math.log10(29 / 2),
    relativeError: Math.sqrt(2 / 29),
    cosineMin: 24 / 25,
    cosineMean: (24 / 25 + 1) / 2,
    maxAbsError: 1,
    top1: { same: 1, of: 2 },
  });
});

test('numpy says the same of 3 × 5 values', () => {
  // a = numpy.arange(15).reshape(3, 5) - 6.5; b = numpy.round(a / 3) * 3 (float64), numpy 2.4.6
  const a = Array.from({ length: 15 }, (_, place) => place - 6.5);
  const b = [-6, -6, -6, -3, -3, 0, 0, 0, 0, 3, 3, 6, 6, 6, 6];
  const figures = compareValues(a, b, [3, 5]);
  expect(figures?.sqnrDb).toBeCloseTo(NUMPY.sqnrDb, 9);
  expect(figures?.cosineMin).toBeCloseTo(NUMPY.cosineMin, 12);
  expect(figures?.cosineMean).toBeCloseTo(NUMPY.cosineMean, 12);
  expect(figures?.top1).toEqual(NUMPY.top1);
});

const NUMPY = {
  sqnrDb: 13.146331720348975,
  cosineMin: 0.7453559924999299,
  cosineMean: 0.9057338713277531,
  top1: { same: 1, of: 3 },
};

test('equal, zero, and outputs that are no classes', () => {
  expect(compareValues([1, 2], [1, 2], [2])).toMatchObject({ sqnrDb: null, top1: null });
  expect(compareValues([0, 0], [0, 0], [1, 2])).toMatchObject({ sqnrDb: null, cosineMin: 1 });
  expect(compareValues([0, 0], [0, 1], [1, 2])).toBeNull();
});
