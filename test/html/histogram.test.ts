import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { readRunFolder } from '../../src/artefacts/read/read-run.ts';
import { histogramOf } from '../../src/html/histogram.ts';
import { FIXTURES } from '../support/recordings.ts';

const run = (runId: string, values: readonly number[]) => ({ runId, values: Float64Array.from(values) });

describe('the queries of runs, in bins', () => {
  test('percentiles are those of trtexec: of 60 queries p99 is the longest, and not between two', () => {
    const [only] = histogramOf('latency', [run('a', [9, ...Array.from({ length: 59 }, () => 1)])])?.runs ?? [];
    expect(only?.statistics).toEqual({ min: 1, median: 1, p90: 1, p99: 9, max: 9 });
    const [few] = histogramOf('latency', [run('a', [4, 1, 3, 2])])?.runs ?? [];
    expect(few?.statistics).toEqual({ min: 1, median: 2.5, p90: 4, p99: 4, max: 4 });
  });

  test.each(['no-transfers-graph-spin', 'enqueue-bound'])(
    'those of the recorded run of %s are printed in its log',
    async (cell) => {
      const [read] = await readRunFolder(join(FIXTURES, 'formats', cell));
      const values = read?.exports.times?.columns.computeMs ?? new Float64Array();
      const printed = read?.log.measurement?.gpuComputeMs;
      const found = histogramOf('GPU compute time', [{ runId: 'a', values }])?.runs[0]?.statistics;
      const rounded = (value: number | undefined): number => Number((value ?? 0).toPrecision(5));
      expect(values.length).toBeGreaterThan(100);
      expect([found?.p90, found?.p99, found?.max].map(rounded)).toEqual(
        [printed?.percentiles['90'], printed?.percentiles['99'], printed?.max].map(rounded),
      );
    },
  );

  test('earlier runs are counted together, in the same bins', () => {
    const now = [run('a', [2, 3]), run('b', [4])];
    const found = histogramOf('latency', now, [run('c', [1, 5]), run('d', [2, 4, 3])]);
    expect(found?.fromMs).toBe(1);
    expect(found?.medianMs).toBe(3);
    expect(found?.before).toMatchObject({ runs: 2, queries: 5, beyond: 0 });
    expect(found?.before?.statistics).toEqual({ min: 1, median: 3, p90: 5, p99: 5, max: 5 });
    // 48 bins, two of them for what lies above 99.5 % of the queries.
    const bins = [1, 2, 3, 4, 5].map((ms) => Math.floor((ms - 1) / (found?.binMs ?? 1)));
    expect(found?.before?.counts.flatMap((count, bin) => (count === 0 ? [] : bin))).toEqual(bins);
    expect(histogramOf('latency', now)?.before).toBeNull();
  });
});
