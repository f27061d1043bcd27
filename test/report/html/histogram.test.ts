import { describe, expect, test } from 'vitest';

import { histogramOf } from '../../../src/report/html/histogram.ts';

const run = (runId: string, values: readonly number[]) => ({
  runId,
  values: Float64Array.from(values),
});

describe('the queries of runs, in bins', () => {
  test('every query is in a bin or beyond; the bins are shared', () => {
    const even = Array.from({ length: 1000 }, (_, place) => 1 + place / 1000);
    const found = histogramOf('latency', [run('a', even), run('b', [1.5, 1.5, 40])]);
    expect(found?.fromMs).toBe(1);
    for (const { queries, counts, beyond } of found?.runs ?? []) {
      expect(counts.reduce((sum, count) => sum + count, 0) + beyond).toBe(queries);
    }
    expect(found?.runs.map(({ queries }) => queries)).toEqual([1000, 3]);
  });

  test('one stray query does not squeeze the others into one bin', () => {
    const values = Array.from({ length: 999 }, (_, place) => 1 + place / 1000);
    const [only] = histogramOf('latency', [run('a', [...values, 500])])?.runs ?? [];
    expect(only?.beyond).toBe(1);
    expect(only?.counts.filter((count) => count > 0).length).toBeGreaterThan(40);
  });

  test('statistics as numpy.quantile([1, 2, 3, 4], [0.5, 0.9, 0.99])', () => {
    const [only] = histogramOf('latency', [run('a', [4, 1, 3, 2])])?.runs ?? [];
    expect(only?.statistics.min).toBe(1);
    expect(only?.statistics.median).toBeCloseTo(2.5, 12);
    expect(only?.statistics.p90).toBeCloseTo(3.7, 12);
    expect(only?.statistics.p99).toBeCloseTo(3.97, 12);
    expect(only?.statistics.max).toBe(4);
  });

  test('queries that are all equal are in one bin', () => {
    const [only] = histogramOf('latency', [run('a', [2, 2, 2])])?.runs ?? [];
    expect(only?.counts.filter((count) => count > 0)).toEqual([3]);
  });

  test('nothing of nothing', () => {
    expect(histogramOf('latency', [])).toBeNull();
    expect(histogramOf('latency', [run('a', [])])).toBeNull();
  });
});
