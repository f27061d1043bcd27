import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { middleOf, scaleFrom, scaleOf } from '../../src/statistics/order-statistics.ts';
import { SortedWindow } from '../../src/statistics/sorted-window.ts';

const value = fc.oneof(fc.integer({ min: 0, max: 9 }), fc.double({ noNaN: true, min: -9, max: 9 }));
// Without -0, which is in the same place as 0.
const values = fc.array(value.map((one) => one + 0));

test('the quantiles of what is left are those of selection, and equal neighbors are counted', () => {
  fc.assert(
    fc.property(values, values, (kept, gone) => {
      const window = new SortedWindow(kept.length + gone.length);
      for (const one of [...gone, ...kept]) window.add(one);
      for (const one of gone) window.remove(one);
      const middle = window.median();
      const apart = kept.map((one) => Math.abs(one - middle));
      expect(window.count).toBe(kept.length);
      expect(window.ties).toBe(kept.length - new Set(kept).size);
      expect(middle).toBe(middleOf(Float64Array.from(kept)));
      expect(window.medianApart(middle)).toBe(middleOf(Float64Array.from(apart)));
      for (const q of [0.5, 0.75] as const) {
        const wanted = scaleOf(Float64Array.from(kept), q);
        if (kept.length > 1) expect(scaleFrom(window.quantile(q), q)).toBeCloseTo(wanted, 15);
      }
    }),
  );
});

test('of nothing: 0, and no gap', () => {
  const empty = new SortedWindow(1);
  expect([empty.median(), empty.medianApart(1), empty.quantile(0.5)]).toEqual([0, 0, 0]);
  expect(empty.leastGap()).toBe(Number.POSITIVE_INFINITY);
});
