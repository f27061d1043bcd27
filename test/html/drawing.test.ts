import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { cellInHash, linear, rangeOf, treeMap } from '../../src/html/browser/geometry.ts';
import { histogramOf } from '../../src/html/page-data.ts';
import { markup, scriptJson } from '../../src/html/markup.ts';

test('tree map: areas are as the sizes, inside the frame, and fill it', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0.01, max: 100, noNaN: true }), { minLength: 1 }), (given) => {
      const sorted = given.toSorted((a, b) => b - a);
      const total = sorted.reduce((sum, size) => sum + size, 0);
      const tiles = treeMap(sorted, { place: 0, x: 0, y: 0, width: 960, height: 360 });
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

test('queries of runs are shares of common bins, next to those of earlier runs', () => {
  const [now, earlier] = [
    [[2, 3], [4]],
    [
      [1, 5],
      [2, 4, 3],
    ],
  ].map((runs) => runs.map((own) => Float64Array.from(own)));
  const found = histogramOf(now ?? [], earlier);
  expect(found).toMatchObject({ fromMs: 1, now: { runs: 2, medianMs: 3 }, before: { runs: 2, medianMs: 3 } });
  // 48 bins, two of them for what lies above 99.5 % of the queries.
  const bins = [1, 2, 3, 4, 5].map((ms) => Math.floor((ms - 1) / (found?.binMs ?? 1)));
  expect(found?.before?.shares.flatMap((share, bin) => (share === 0 ? [] : bin))).toEqual(bins);
  expect([histogramOf(now ?? [])?.before, histogramOf([])]).toEqual([null, null]);
});

describe('what is put into the page', () => {
  test('texts are escaped, in elements and in quoted attributes', () => {
    const evil = `<script>alert("1")</script> & 'x'`;
    expect(markup`<b title="${evil}">${evil}</b>`.text).toBe(
      '<b title="&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62; &#38; &#39;x&#39;">&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62; &#38; &#39;x&#39;</b>',
    );
  });

  test('JSON in a script element cannot end it, and is the same JSON', () => {
    const value = { 'a</script>': ['<!--', "'"] };
    const { text } = scriptJson(value);
    expect(text).not.toMatch(/[<\u2028\u2029]/);
    expect([JSON.parse(text), scriptJson('\u2028\u202e').text]).toEqual([value, String.raw`"\\u2028\\u202e"`]);
  });
});
