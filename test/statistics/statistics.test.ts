import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { binsFor, binsOver, countIn } from '../../src/statistics/histogram.ts';
import { mannWhitneyP, rejectedByBenjaminiHochberg } from '../../src/statistics/p-values.ts';
import { at, median, quantileSorted, timesAbove } from '../../src/statistics/order-statistics.ts';
import { erfc, incompleteBeta, logGamma, tQuantile, twoSidedP } from '../../src/statistics/special-functions.ts';

// Numbers from scipy 1.17.1; the call stands above each block.

function expectClose(actual: number, expected: number, relative = 1e-10): void {
  expect(Math.abs(actual - expected)).toBeLessThanOrEqual(relative * Math.max(1e-300, Math.abs(expected)));
}

describe('2 * scipy.stats.t.sf(t, f)', () => {
  test.each([
    [1, 1, 0.5000000000000001],
    [2.5, 4, 0.06676654481198814],
    [3.1, 7.5, 0.015884151890859705],
    [12, 3, 0.0012450158007893362],
    [40, 8, 1.6785718879145792e-10],
    [1.96, 1e6, 0.04999606758526985],
  ])('t = %f, f = %f', (t, degrees, expected) => expectClose(twoSidedP(t, degrees), expected, 1e-9));
});

describe('scipy.stats.t.isf(p / 2, f)', () => {
  test.each([
    [0.05, 1, 12.706204736174705],
    [0.05, 4, 2.7764451051977943],
    [0.03, 7.5, 2.6709857767869836],
    [1e-6, 10, 10.516489956914905],
    [0.05, 1e6, 1.9599663568141072],
  ])('p = %f, f = %f', (p, degrees, expected) => expectClose(tQuantile(p, degrees), expected, 1e-9));
  test('f without a limit: the normal distribution', () =>
    expectClose(tQuantile(0.05, Infinity), 1.959963984540054, 1e-6));
});

describe('scipy.special.gammaln(x)', () => {
  test.each([
    [0.1, 2.252712651734206],
    [1.5, -0.12078223763524526],
    [100.5, 361.43554046777757],
    [1e5, 1051287.7089736569],
  ])('x = %f', (x, expected) => expectClose(logGamma(x), expected, 1e-12));
});

describe('scipy.special.betainc(a, b, x)', () => {
  test.each([
    [0.5, 0.5, 0.3, 0.36901011956554536],
    [2, 3, 0.4, 0.5248],
    [0.1, 5, 0.001, 0.6128983593749946],
    [50, 60, 0.45, 0.4642352914306031],
    [3.75, 0.5, 0.9, 0.38971134231233545],
  ])('a = %f, b = %f, x = %f', (a, b, x, expected) => expectClose(incompleteBeta(a, b, x), expected));
});

test('numpy.quantile([3.1, 2.2, 9.7, 4.4, 5.0, 1.2, 8.8], p)', () => {
  const sorted = [1.2, 2.2, 3.1, 4.4, 5, 8.8, 9.7];
  const expected: readonly (readonly [number, number])[] = [
    [0, 1.2],
    [0.1, 1.8],
    [0.25, 2.65],
    [0.5, 4.4],
    [0.9, 9.16],
    [0.95, 9.43],
    [1, 9.7],
  ];
  for (const [p, value] of expected) expect(quantileSorted(sorted, p)).toBeCloseTo(value, 12);
});

test('Benjamini and Hochberg, as scipy.stats.false_discovery_control(p) <= q', () => {
  // The example of the paper's tables: adjusted values .015, .06, .126 (three times), .15 and more.
  const p = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216, 0.222, 0.251, 0.269, 0.275, 0.34];
  expect([...rejectedByBenjaminiHochberg(p, 0.05)]).toEqual([0]);
  expect([...rejectedByBenjaminiHochberg(p, 0.06)]).toEqual([0, 1]);
  expect([...rejectedByBenjaminiHochberg(p, 0.126)]).toEqual([0, 1, 2, 3, 4]);
  expect([...rejectedByBenjaminiHochberg(p, 0.01)]).toEqual([]);
  expect([...rejectedByBenjaminiHochberg([], 0.05)]).toEqual([]);
});

test('median of none, of odd and of even', () => {
  expect([median([]), median([3, 1, 2]), median([4, 1, 3, 2])]).toEqual([null, 2, 2.5]);
});

describe('properties', () => {
  test('the quantile of t undoes its p value', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-6, max: 0.999, noNaN: true }),
        fc.double({ min: 1, max: 100, noNaN: true }),
        (p, degrees) => expectClose(twoSidedP(tQuantile(p, degrees), degrees), p, 1e-8),
      ),
    );
  });
});

describe('scipy.special.erfc(x)', () => {
  test.each([
    [0, 1],
    [1e-8, 0.9999999887162083],
    [0.1, 0.8875370839817152],
    [1, 0.15729920705028516],
    [1.4999, 0.033906748337704726],
    [1.5, 0.03389485352468927],
    [3.3, 3.057709796438165e-6],
    [5, 1.5374597944280347e-12],
    [10, 2.0884875837625446e-45],
    [26, 5.663192408856145e-296],
  ])('x = %f', (x, expected) => expectClose(erfc(x), expected, 1e-12));
});

describe("scipy.stats.mannwhitneyu(a, b, method='asymptotic').pvalue", () => {
  const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index);

  test.each([
    [[1, 2, 3], [4, 5, 6], 0.08085559837005224],
    [[1.5, 2.5, 2.5, 3.5], [2.5, 4, 5, 6, 7], 0.06168916598092455],
    [[10, 11, 12, 13, 14, 15], [9, 10, 11, 12, 13, 14], 0.4192445902189239],
    [[1, 1, 1, 1], [1, 1, 1, 2], 0.4532547047537364],
    [range(0, 24), range(6, 24), 0.00962463125678232],
  ])('a = %j, b = %j', (a, b, expected) => expectClose(mannWhitneyP(a, b), expected, 1e-12));

  test('sides change places, and a change of scale, leave it as it is', () => {
    const side = fc.array(fc.double({ min: 0.1, max: 100, noNaN: true }), { minLength: 2, maxLength: 20 });
    fc.assert(
      fc.property(side, side, (a, b) => {
        const p = mannWhitneyP(a, b);
        expectClose(mannWhitneyP(b, a), p);
        const doubled = [a, b].map((values) => values.map((value) => 2 * value));
        expectClose(mannWhitneyP(doubled[0] ?? [], doubled[1] ?? []), p);
      }),
    );
  });
});

/** Quantiles of an exponential distribution: skewed, as the times of queries are. */
const SKEWED = Array.from({ length: 400 }, (_, index) => 1 - 0.01 * Math.log(1 - (index + 0.5) / 400));

// numpy: np.histogram(SKEWED, np.linspace(from, from + 12 * width, 13)), width = (np.quantile(SKEWED, .995) - from) / 10
test('counts are those of numpy.histogram over the same bins', () => {
  const bins = binsOver([SKEWED], 12);
  expect(bins.from).toBeCloseTo(1.0000125078190165, 12);
  expect(bins.width).toBeCloseTo(0.00507647716145101, 12);
  expect(countIn(SKEWED, bins)).toEqual({ counts: [160, 95, 58, 35, 20, 13, 8, 4, 3, 2, 0, 1], beyond: 1 });
});

// numpy: ceil((q(0.995) - min) / (2 (q(0.75) - q(0.25)) / cbrt(400))) + 2, q = np.quantile of SKEWED
test('bins are as wide as Freedman and Diaconis say, and at most as many as there is room for', () => {
  expect(binsFor([SKEWED], 200).count).toBe(20);
  expect(binsFor([SKEWED], 12)).toEqual(binsOver([SKEWED], 12));
});

test('a place outside of an array is an error, and no zero', () => {
  const values = Float64Array.of(3, 0, Number.NaN);
  expect([0, 1, 2].map((place) => at(values, place))).toEqual([3, 0, Number.NaN]);
  for (const place of [-1, 3, 0.5]) expect(() => at(values, place)).toThrow(`no number at ${place} of 3`);
});

test("trtexec's p90, p95, p99 and p99.9 leave out no time of few queries: they are the maximum", () => {
  const above = [9, 10, 73, 100, 1000].map((queries) => [90, 95, 99, 99.9].map((one) => timesAbove(queries, one)));
  expect(above).toEqual([
    [0, 0, 0, 0],
    [1, 0, 0, 0],
    [7, 3, 0, 0],
    [10, 5, 0, 0],
    [100, 50, 9, 0],
  ]);
});
