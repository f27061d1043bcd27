import { array, assert, double, property } from 'fast-check';
import { describe, expect, test } from 'vitest';

import { buildLuck, type BuiltRun } from '../../../src/features/noise/build-luck.ts';
import { seededRandom } from '../../../src/matrix/plan/order.ts';

function runsOf(groups: Readonly<Record<string, readonly number[]>>, sweepId = 's'): BuiltRun[] {
  return Object.entries(groups).flatMap(([buildId, values]) => values.map((value) => ({ sweepId, buildId, value })));
}

/** Values with these logarithms. */
function logs(...values: readonly number[]): number[] {
  return values.map((value) => Math.exp(value / 100));
}

describe('the variance of builds and of runs', () => {
  test('by hand: three builds of three runs', () => {
    // Means 1, 2, 6 around 3: SSB = 3 (4 + 1 + 9) = 42, MSB = 21; SSW = 3 * 2 = 6, MSW = 1; (21 - 1) / 3 = 6.667.
    const found = buildLuck(runsOf({ a: logs(0, 1, 2), b: logs(1, 2, 3), c: logs(5, 6, 7) }));
    expect(found?.betweenPercent).toBeCloseTo(Math.expm1(Math.sqrt(20 / 3) / 100) * 100, 10);
    expect(found?.withinPercent).toBeCloseTo(Math.expm1(0.01) * 100, 10);
  });

  test('unequal groups, as by R: anova(lm(y ~ g)) of y = 0,2,1,3,5,9', () => {
    // Groups (0, 2), (1, 3, 5), (9): means 1, 3, 9, grand 20/6. SSB = 2*(7/3)^2 + 3*(1/3)^2 + (17/3)^2 = 43.3333,
    // SSW = 2 + 8 = 10 with 3 degrees; n0 = (6 - 14/6)/2 = 11/6.
    const found = buildLuck(runsOf({ a: logs(0, 2), b: logs(1, 3, 5), c: logs(9) }));
    const between = (65 / 3 - 10 / 3) / (11 / 6);
    expect(found?.betweenPercent).toBeCloseTo(Math.expm1(Math.sqrt(between) / 100) * 100, 10);
  });

  test('builds that differ by less than their runs have none of their own', () => {
    const found = buildLuck(runsOf({ a: logs(0, 4), b: logs(1, 3) }));
    expect(found?.betweenPercent).toBe(0);
  });

  test('the level of a night is not the luck of a build', () => {
    const night = (level: number, sweepId: string) =>
      runsOf({ a: logs(level, level + 1), b: logs(level + 4, level + 5) }, sweepId);
    const found = buildLuck([...night(0, 's1'), ...night(30, 's2')]);
    // Two-way: SSB = 8 * 4 = 32 with 1 degree; SSW = 8 * 0.25 = 2 with 8 - 2 - 1 = 5.
    expect(found?.withinPercent).toBeCloseTo(Math.expm1(Math.sqrt(2 / 5) / 100) * 100, 10);
    const between = Math.sqrt((32 - 2 / 5) / 4);
    expect(found?.betweenPercent).toBeCloseTo(Math.expm1(between / 100) * 100, 10);
  });

  test('needs two builds side by side, and a second run of one', () => {
    expect(buildLuck(runsOf({ a: [1, 2, 3] }))).toBeNull();
    expect(buildLuck(runsOf({ a: [1], b: [2] }))).toBeNull();
    expect(buildLuck([...runsOf({ a: [1, 2] }, 's1'), ...runsOf({ b: [1, 2] }, 's2')])).toBeNull();
    expect(buildLuck([])).toBeNull();
  });

  test('another unit changes nothing', () => {
    const value = double({ min: 0.1, max: 10, noNaN: true });
    const group = array(value, { minLength: 2, maxLength: 5 });
    assert(
      property(group, group, double({ min: 0.01, max: 100, noNaN: true }), (a, b, unit) => {
        const plain = buildLuck(runsOf({ a, b }));
        const scaled = buildLuck(runsOf({ a: a.map((v) => v * unit), b: b.map((v) => v * unit) }));
        expect(scaled?.withinPercent).toBeCloseTo(plain?.withinPercent ?? NaN, 6);
        expect(scaled?.betweenPercent).toBeCloseTo(plain?.betweenPercent ?? NaN, 4);
      }),
    );
  });

  test('finds what was put in, on average over 400 cells', () => {
    const random = seededRandom(66);
    const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const variances = Array.from({ length: 400 }, () => {
      const groups = Array.from({ length: 5 }, (_, place): [string, number[]] => {
        const luck = 0.02 * normal();
        return [String(place), Array.from({ length: 3 }, () => Math.exp(luck + 0.01 * normal()))];
      });
      const found = buildLuck(runsOf(Object.fromEntries(groups)));
      return Math.log1p((found?.betweenPercent ?? 0) / 100) ** 2;
    });
    const mean = variances.reduce((sum, variance) => sum + variance, 0) / variances.length;
    expect(Math.sqrt(mean)).toBeGreaterThan(0.019);
    expect(Math.sqrt(mean)).toBeLessThan(0.0215);
  });
});
