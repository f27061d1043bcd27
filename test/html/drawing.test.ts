import { join } from 'node:path';

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { readRunFolder } from '../../src/artefacts/read/read-run.ts';
import { cellInHash, linear, rangeOf, treeMap } from '../../src/html/browser/geometry.ts';
import { histogramOf } from '../../src/html/page-data.ts';
import { markup, scriptJson } from '../../src/html/markup.ts';
import { FIXTURES } from '../support/recordings.ts';

test('tree map: areas are as the sizes, inside the frame, and fill it', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0.01, max: 100, noNaN: true }), { minLength: 1 }), (given) => {
      const sorted = given.toSorted((a, b) => b - a);
      const total = sorted.reduce((sum, size) => sum + size, 0);
      const tiles = treeMap(sorted, 960, 360);
      expect(tiles.map(({ place }) => place)).toEqual(sorted.map((_, place) => place));
      for (const { place, x, y, width, height } of tiles) {
        const share = (sorted[place] ?? 0) / total;
        expect((width * height) / (960 * 360)).toBeCloseTo(share, 6);
        expect(Math.min(x, y)).toBeGreaterThanOrEqual(-1e-6);
        expect(x + width).toBeLessThan(960 + 1e-3);
        expect(y + height).toBeLessThan(360 + 1e-3);
      }
    }),
  );
});

describe('the address of a cell', () => {
  test('its key, or the beginning of it', () => expect(cellInHash('#cell=0123abcd')).toBe('0123abcd'));

  test.each(['', '#cells', '#cell=', '#cell=xyz', '#cell="><b>', '#cell=abc%00', '#cell=../..'])('%j is none', (hash) =>
    expect(cellInHash(hash)).toBeNull(),
  );
});

describe('scales', () => {
  test('there and back', () => {
    const scale = linear([10, 20], [100, 0]);
    expect([scale.at(10), scale.at(15), scale.at(20), scale.back(25)]).toEqual([100, 50, 0, 17.5]);
  });

  test('an axis has room round its values, but none above the whole of a share', () => {
    const [least, most] = rangeOf([0.9, 1], null);
    expect(least).toBeCloseTo(0.892, 9);
    expect([most, rangeOf([0.9, 1], 1), rangeOf([], 1)]).toEqual([expect.closeTo(1.008, 9), [least, 1], [0, 1]]);
  });
});

const run = (runId: string, values: readonly number[]) => ({ runId, values: Float64Array.from(values) });

describe('the queries of runs, in bins', () => {
  test('percentiles are those of trtexec: of 60 queries p99 is the longest, and not between two', () => {
    const [only] = histogramOf([run('a', [9, ...Array.from({ length: 59 }, () => 1)])])?.runs ?? [];
    expect(only?.statistics).toEqual({ min: 1, median: 1, p90: 1, p99: 9, max: 9 });
    const [few] = histogramOf([run('a', [4, 1, 3, 2])])?.runs ?? [];
    expect(few?.statistics).toEqual({ min: 1, median: 2.5, p90: 4, p99: 4, max: 4 });
  });

  test.each(['no-transfers-graph-spin', 'enqueue-bound'])(
    'those of the recorded run of %s are printed in its log',
    async (cell) => {
      const [read] = await readRunFolder(join(FIXTURES, 'formats', cell));
      const values = read?.exports.times?.columns.computeMs ?? new Float64Array();
      const printed = read?.log.measurement?.gpuComputeMs;
      const found = histogramOf([{ runId: 'a', values }])?.runs[0]?.statistics;
      const rounded = (value: number | undefined): number => Number((value ?? 0).toPrecision(5));
      expect(values.length).toBeGreaterThan(100);
      expect([found?.p90, found?.p99, found?.max].map(rounded)).toEqual(
        [printed?.percentiles['90'], printed?.percentiles['99'], printed?.max].map(rounded),
      );
    },
  );

  test('earlier runs are counted together, in the same bins', () => {
    const now = [run('a', [2, 3]), run('b', [4])];
    const found = histogramOf(now, [run('c', [1, 5]), run('d', [2, 4, 3])]);
    expect(found).toMatchObject({ fromMs: 1, medianMs: 3, before: { runs: 2, queries: 5, beyond: 0 } });
    expect(found?.before?.statistics).toEqual({ min: 1, median: 3, p90: 5, p99: 5, max: 5 });
    // 48 bins, two of them for what lies above 99.5 % of the queries.
    const bins = [1, 2, 3, 4, 5].map((ms) => Math.floor((ms - 1) / (found?.binMs ?? 1)));
    expect(found?.before?.counts.flatMap((count, bin) => (count === 0 ? [] : bin))).toEqual(bins);
    expect(histogramOf(now)?.before).toBeNull();
  });
});

describe('what is put into the page', () => {
  test('texts are escaped, in elements and in quoted attributes', () => {
    const evil = `<script>alert("1")</script> & 'x'`;
    expect(markup`<b title="${evil}">${evil}</b>`.text).toBe(
      '<b title="&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;">&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;</b>',
    );
  });

  test('JSON in a script element cannot end it, and is the same JSON', () => {
    const value = { 'a</script>': ['<!--', "'"] };
    const { text } = scriptJson(value);
    expect(text).not.toMatch(/[<\u2028\u2029]/);
    expect([JSON.parse(text), scriptJson('\u2028\u202e').text]).toEqual([value, String.raw`"\\u2028\\u202e"`]);
  });
});
