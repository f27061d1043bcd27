import { describe, expect, test } from 'vitest';

import type { TwoSides } from '../../src/judge/compare/compare-cells.ts';
import { judgeExperiment } from '../../src/judge/experiment.ts';
import { normals } from '../support/simulated-store.ts';

const A = [99.2, 101.1, 100.3, 98.9, 100.6];

function sides(base: readonly number[], head: readonly number[], more: Partial<TwoSides> = {}): TwoSides {
  return { cellKey: 'one', base, head, betterIs: 'higher', ...more };
}

// scipy 1.15.3: r = scipy.stats.ttest_ind(np.log(b), np.log(a)); np.expm1(r.confidence_interval(0.95)) * 100; of times of a and b
const TIMES = sides([10.1, 9.9, 10, 10.05, 9.95], [8.9, 8.8, 8.95, 8.85, 9], { betterIs: 'lower' });
test.each([
  ['12 %', sides(A, [112.4, 111.1, 112.9, 110.8, 113.0]), 'significant', 12.01776, 10.5134, 13.54261],
  ['8 %', sides(A, [108.3, 107.1, 108.8, 106.9, 109.0]), 'notABottleneck', 7.99872, 6.56367, 9.45309],
  ['10 %', sides(A, [110.4, 108.9, 111.2, 109.5, 111.1]), 'unclear', 10.19817, 8.72254, 11.69382],
  ['12 % of shorter times', TIMES, 'significant', 12.36029, 10.99075, 13.74673],
] as const)('B is %s better', (_, one, verdict, gain, low, high) => {
  const cell = judgeExperiment([one], 10)(['one']);
  expect(cell).toMatchObject({ verdict, gainPercent: expect.closeTo(gain, 4) });
  expect([cell.ciPercent?.[0], cell.ciPercent?.[1]]).toEqual([expect.closeTo(low, 4), expect.closeTo(high, 4)]);
});

describe('what is unclear', () => {
  test('says how many repeats settle it, from the noise of a run', () => {
    const cell = judgeExperiment([sides(A, [110.4, 108.9, 111.2, 109.5, 111.1])], 10)(['one']);
    // v = 8.545e-5; d = ln(1.1019817 / 1.1) = .0018: (1.96 + 1.2816)^2 * 2 * v / d^2 = 555 repeats.
    expect(cell.moreRepeats).toBe(550);
  });

  test('says so where no number of repeats would', () => {
    const same = [100, 101, 99];
    const head = same.map((value) => value * 1.1);
    const reasons = ['more repeats like these do not settle it'];
    expect(judgeExperiment([sides(same, head)], 10)(['one'])).toMatchObject({ moreRepeats: null, reasons });
    const doubted = sides(A, [112.4, 111.1, 112.9, 110.8, 113.0], { systematicError: 0.02 });
    expect(judgeExperiment([doubted], 10)(['one'])).toMatchObject({ verdict: 'unclear', moreRepeats: null });
  });

  test('one run a side is never a verdict, whatever it says', () => {
    const overall = judgeExperiment([sides([100], [200])], 10)(['one']);
    expect(overall.verdict).toBe('unclear');
    expect(overall.reasons).toContain('no verdict: one run per side');
    expect(overall.moreRepeats).toBeGreaterThan(0);
  });
});

test('a side without a run is no result, and not part of the mean', () => {
  const good = sides(A, [112.4, 111.1, 112.9, 110.8, 113.0]);
  const judge = judgeExperiment([good, sides([], [1], { cellKey: 'two' })], 10);
  expect(judge(['two'])).toMatchObject({ verdict: 'failed', gainPercent: null });
  expect(judge(['one', 'two']).gainPercent).toBeCloseTo(12.01776, 4);
});

test('the mean of cells by Welch and Satterthwaite', () => {
  const two = sides([50.1, 49.9, 50.3], [52.0, 52.6, 51.5], { cellKey: 'two' });
  const overall = judgeExperiment([sides(A, [112.4, 111.1, 112.9, 110.8, 113.0]), two], 10)(['one', 'two']);
  // s = v1 + v2; f = s ** 2 / (v1 ** 2 / 8 + v2 ** 2 / 4); stats.t.ppf(.975, f) * np.sqrt(s) / 2
  expect(overall.gainPercent).toBeCloseTo(7.85951, 4);
  expect(overall.ciPercent?.[0]).toBeCloseTo(6.80805, 4);
  expect([overall.ciPercent?.[1], overall.verdict]).toEqual([expect.closeTo(8.92133, 4), 'notABottleneck']);
});

describe('10 % more against 10 %, 1 % noise, five repeats, 600 times', () => {
  const normal = normals(14);
  const runs = (level: number): number[] => Array.from({ length: 5 }, () => level * Math.exp(normal() / 100));

  test.each([1, 12])('the interval holds the truth 19 of 20 times: %i cells', (cells) => {
    let held = 0;
    const experiments = 600 / cells;
    for (let time = 0; time < experiments; time += 1) {
      const all = Array.from({ length: cells }, (_, at) => sides(runs(100), runs(110), { cellKey: `c${at}` }));
      const judge = judgeExperiment(all, 10);
      for (const { cellKey } of all) held += judge([cellKey]).verdict === 'unclear' ? 1 : 0;
    }
    const share = held / experiments / cells;
    // Three standard errors, sqrt(0.95 x 0.05 / 600), to both sides.
    expect(Math.abs(share - 0.95)).toBeLessThan(0.0267);
  });
});
