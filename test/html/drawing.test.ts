import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { heatClass } from '../../src/features/report/page/sections.ts';
import {
  linear,
  placeHash,
  rangeOf,
  readPlace,
  staircase,
  SweepRange,
  treeMap,
} from '../../src/html/browser/geometry.ts';

describe('tree map', () => {
  test('areas are as the sizes, inside the frame, and fill it', () => {
    const sizes = fc.array(fc.double({ min: 0.01, max: 100, noNaN: true }), { minLength: 1 });
    fc.assert(
      fc.property(sizes, (given) => {
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
});

describe('the address of a cell', () => {
  test('there and back', () => {
    const place = { cell: '0123abcd', from: 3, to: 40 };
    expect(placeHash(place)).toBe('#cell=0123abcd&from=3&to=40');
    expect(readPlace(placeHash(place))).toEqual(place);
  });

  test.each(['', '#', '#cells', '#cell=', '#cell=xyz', '#cell="><b>', '#cell=abc%00', '#cell=../..'])(
    '%j is none',
    (hash) => {
      expect(readPlace(hash)).toEqual({ cell: null, from: null, to: null });
    },
  );
});

test('a shade a percent, up to five, by what is worse', () => {
  const shades = [0, 0.49, -0.5, 1.4, 4.49, 4.5, 5.3, -80].map((percent) => heatClass(percent, percent > 0));
  expect(shades).toEqual(['h0', 'h0', 'better1', 'worse1', 'worse4', 'worse5', 'worse5', 'better5']);
});

test('the staircase of a precision: its fastest for each latency', () => {
  const point = (label: string, latencyMs: number, itemsPerS: number) => {
    const accuracy = 'notChecked' as const;
    return { key: label, label, precision: 'fp8', latencyMs, itemsPerS, accuracy, isDominated: false };
  };
  const points = [point('b8', 2, 400), point('b1', 1, 100), point('slow', 2.1, 380), point('b64', 16, 900)];
  expect(staircase(points).map(({ label }) => label)).toEqual(['b1', 'b8', 'b64']);
});

describe('scales', () => {
  test('there and back', () => {
    const scale = linear([10, 20], [100, 0]);
    expect([scale.at(10), scale.at(15), scale.at(20)]).toEqual([100, 50, 0]);
    expect(scale.back(25)).toBe(17.5);
  });

  test('an axis has room round its values, but none above the whole of a share', () => {
    const [least, most] = rangeOf([0.9, 1], null);
    expect(least).toBeCloseTo(0.892, 9);
    expect(most).toBeCloseTo(1.008, 9);
    expect(rangeOf([0.9, 1], 1)).toEqual([least, 1]);
    expect(rangeOf([], 1)).toEqual([0, 1]);
  });
});

describe('the sweeps that a chart shows', () => {
  const ends = ({ from, to }: SweepRange): readonly [number, number] => [from, to];

  test('all of them, or those of the address', () => {
    expect(ends(new SweepRange(60, null, null))).toEqual([0, 59]);
    expect(ends(new SweepRange(60, 10, 19))).toEqual([10, 19]);
    expect(ends(new SweepRange(60, 70, 2))).toEqual([59, 59]);
    expect(ends(new SweepRange(0, null, null))).toEqual([0, 0]);
  });

  test('zoom keeps the sweep in its place, five sweeps at the least', () => {
    const range = new SweepRange(61, null, null);
    range.zoom(0.5, 15);
    expect(ends(range)).toEqual([8, 38]);
    range.zoom(2, 15);
    expect(ends(range)).toEqual([0, 60]);
    for (let time = 0; time < 9; time += 1) range.zoom(0.5, 30);
    expect(range.to - range.from).toBe(4);
  });

  test('it moves to a sweep outside, and keeps its width', () => {
    const range = new SweepRange(60, 10, 19);
    range.reach(15);
    expect(ends(range)).toEqual([10, 19]);
    range.reach(25);
    expect(ends(range)).toEqual([16, 25]);
    range.reach(3);
    expect(ends(range)).toEqual([3, 12]);
  });
});
