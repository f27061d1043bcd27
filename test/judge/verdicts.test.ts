import { describe, expect, test } from 'vitest';

import { power, settledByRuns, sharedChange, unchangedNights, verdictsOn } from '../../benchmarks/verdicts/simulate.ts';
import { detectableErrors, varianceReserve } from '../../src/judge/run-noise.ts';
import { typicalVariance, variancePrior } from '../../src/statistics/variance-prior.ts';
import { normals } from '../support/simulated-store.ts';

/** Small versions of benchmarks/verdicts.ts, from seeds: wide enough that only another rule leaves them. */
describe('verdicts on simulated matrices', () => {
  test.each([0.5, 0.6, 0.75])('a change in %f of the cells is called, and no other cell', (share) => {
    for (const [change, seed] of [
      [3, 21],
      [-3, 22],
    ] as const) {
      const found = sharedChange(change, share, 20, seed);
      expect(found.changedCalled).toBeGreaterThanOrEqual(99);
      expect(found.othersCalled).toBeLessThanOrEqual(1);
    }
  });

  test.each([
    [40, 0.01, 5, -2],
    [20, 0.003, 3, 1],
  ])(
    'what nights differ by is not read from a change in half: %i cells, sigma %f, %i runs, %f %%',
    (cells, sigma, count, change) => {
      const { kept } = sharedChange(change, 0.5, 60, 29, { cells, sigma, count });
      expect(kept).toBeGreaterThan(82);
    },
  );

  test.each([
    [40, 0.003, 0.002],
    [12, 0.001, 0.003],
  ])('neither are intervals too narrow with a history: %i cells, sigma %f, nights %f', (cells, sigma, night) => {
    const found = unchangedNights(sigma, night, 5, 30, 30, true, cells);
    expect(found.alarmed).toBeLessThanOrEqual(10);
    expect(found.coverage).toBeGreaterThan(93);
    expect(found.coverage).toBeLessThan(98);
  });

  test('a slow-down of all cells is told in every matrix', () => {
    expect(sharedChange(3, 1, 15, 23)).toMatchObject({ changedCalled: 0, alarmed: 100 });
  });

  test.each([
    [5, 3, false],
    [40, 3, false],
    [40, 5, true],
  ])('of %i cells with %i runs what could hide is found nine times in ten', (cells, runs, past) => {
    const found = power(cells, runs, past, 100, 24);
    expect(found).toBeGreaterThan(75);
    expect(found).toBeLessThan(97);
  });

  test('nights that differ by .2 % raise no alarms, and intervals hold what they promise', () => {
    const found = unchangedNights(0.003, 0.002, 5, 40, 25);
    expect(found.alarmed).toBeLessThanOrEqual(10);
    expect(found.coverage).toBeGreaterThan(93);
    expect(found.coverage).toBeLessThan(98);
  });

  test('noisy cells of a mixed matrix keep their intervals', () => {
    expect(unchangedNights(null, 0, 3, 60, 26).noisyCoverage).toBeGreaterThan(91);
  });

  test('a true change of 2 % is hardly ever the same', () => {
    for (const runs of [3, 5, 10]) expect(verdictsOn(2, runs, 20, 27).same).toBeLessThan(5);
  });

  test('the runs that an unclear cell asks for settle it four times in five', () => {
    expect(settledByRuns(3, 15, 28)).toBeGreaterThan(75);
  });
});

describe('the change that is found nine times in ten', () => {
  test('is the limit and 1.28 errors more where the error is known', () => {
    expect(detectableErrors(3, 1e9)).toBeCloseTo(3 + 1.2816, 4);
  });

  test.each([
    // scipy 1.x: brentq(lambda d: nct.sf(limit, df, d) - 0.9, 0, 30)
    [2.306, 8, 3.7124],
    [3.355, 8, 4.9233],
    [4.587, 6, 6.5267],
    [2.086, 20, 3.4093],
  ])('limit %f, %i degrees: near the noncentral t', (limit, degrees, exact) => {
    expect(detectableErrors(limit, degrees) / exact).toBeGreaterThan(0.97);
    expect(detectableErrors(limit, degrees) / exact).toBeLessThan(1.03);
  });

  test('a variance is larger than its estimate by so much in one case of five', () => {
    // scipy: df / chi2.ppf(0.2, df)
    expect(varianceReserve(4) / 2.426).toBeCloseTo(1, 1);
    expect(varianceReserve(20) / 1.3719).toBeCloseTo(1, 1);
  });
});

describe('what the variances of cells say of another', () => {
  const sampled = (sigmas: readonly number[]) => {
    const normal = normals(31);
    return sigmas.map((sigma) => {
      const squares = Array.from({ length: 4 }, () => (sigma * normal()) ** 2);
      return { variance: squares.reduce((sum, one) => sum + one, 0) / 4, degrees: 4 };
    });
  };

  test('much where they are alike, little where they differ by factors', () => {
    const similar = variancePrior(sampled(Array.from({ length: 60 }, () => 0.003)));
    const apart = variancePrior(sampled(Array.from({ length: 60 }, (_, i) => 0.001 * 20 ** (i / 59))));
    expect(similar?.degrees).toBeGreaterThan(8);
    expect(apart?.degrees).toBeLessThan(3);
    expect(Math.sqrt(similar?.variance ?? 0)).toBeCloseTo(0.003, 3);
  });

  test('nothing from fewer than three', () => {
    expect(variancePrior(sampled([0.001, 0.002]))).toBeNull();
    expect(typicalVariance([])).toBeNull();
  });
});
