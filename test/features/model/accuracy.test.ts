import { expect, test } from 'vitest';

import { accuracyDrop, sameAccuracyHistory } from '../../../src/judge/accuracy-drop.ts';
import { compareValues, worstOutput } from '../../../src/features/model/accuracy-figures.ts';
import type { AccuracyInputs, AccuracyRecord } from '../../../src/records/accuracy.ts';
import { accuracyOf } from '../../support/deployments.ts';

const RANDOM: AccuracyInputs = { kind: 'random', seed: 1, distribution: 'normal', shapes: {} };

function record(sqnrDb: number | null, changes: Partial<AccuracyRecord> = {}): AccuracyRecord {
  return {
    accuracyId: '0'.repeat(32),
    sweepId: null,
    model: 'vit',
    precision: 'fp8',
    precisionVia: 'onnx',
    referenceSha256: 'a',
    variantSha256: 'b',
    inputs: RANDOM,
    accuracy: accuracyOf(sqnrDb),
    versions: {},
    provenance: 'measured',
    measuredAt: '2026-11-20T02:00:00.000Z',
    ...changes,
  };
}

test('of several outputs each figure is that of the worst', () => {
  const good = {
    sqnrDb: 40,
    relativeError: 0.01,
    cosineMin: 0.99,
    cosineMean: 0.999,
    maxAbsError: 3,
    top1: { same: 60, of: 64 },
  };
  const bad = { ...good, sqnrDb: 20, relativeError: 0.1, maxAbsError: 1, top1: { same: 1, of: 2 } };
  const equal = { ...good, sqnrDb: null, relativeError: 0, top1: null };
  expect(worstOutput([good, bad, equal], 64, null)).toEqual({
    sqnrDb: 20,
    relativeError: 0.1,
    cosineMin: 0.99,
    cosineMean: 0.999,
    maxAbsError: 3,
    top1: { same: 1, of: 2 },
    samples: 64,
    custom: null,
  });
  expect(worstOutput([equal], 64, null)?.sqnrDb).toBeNull();
  expect(worstOutput([], 64, null)).toBeNull();
});

test.each([
  [30, 28.9, 1.1, true],
  [30, 29, 1, false],
  [28, 30, -2, false],
  [null, 60, Infinity, true],
  [60, null, -Infinity, false],
  [null, null, 0, false],
])('from %j to %j dB', (was, is, dropDb, isRegression) => {
  const drop = accuracyDrop(record(is), record(was), 1);
  expect(drop?.dropDb).toBeCloseTo(dropDb, 9);
  expect(drop?.isRegression).toBe(isRegression);
  expect(accuracyDrop(record(is), null, 1)).toBeNull();
});

test('a history is of one model, precision and set of inputs, whatever the files', () => {
  const one = record(30);
  expect(sameAccuracyHistory(one, record(20, { variantSha256: 'c', referenceSha256: 'd' }))).toBe(true);
  const others: Partial<AccuracyRecord>[] = [
    { model: 'resnet' },
    { precision: 'int8' },
    { inputs: { ...RANDOM, seed: 2 } },
    { inputs: { ...RANDOM, distribution: 'uniform' } },
    { inputs: { kind: 'file', sha256: 'e' } },
    { accuracy: { ...accuracyOf(30), samples: 16 } },
  ];
  for (const other of others) expect(sameAccuracyHistory(one, record(30, other))).toBe(false);
});

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
