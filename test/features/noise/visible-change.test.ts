import { describe, expect, test } from 'vitest';

import { compareCells } from '../../../src/judge/compare/compare-cells.ts';
import { median } from '../../../src/statistics/median.ts';
import { LEAST_CALLED_PERCENT, repeatsFor, visibleChanges } from '../../../src/features/noise/visible-change.ts';
import { tQuantile } from '../../../src/statistics/student-t.ts';
import { normals } from '../../support/simulated-store.ts';

const scatter = (sigmas: readonly number[]) => sigmas.map((sigma, index) => ({ key: `c${index}`, sigma, past: [] }));

describe('the smallest change that is seen', () => {
  test.each([
    [15, 3],
    [15, 5],
    [15, 8],
    [30, 3],
    [30, 5],
    [30, 8],
  ])('of %i cells with %i runs a side it is what comparisons of them say', (many, runs) => {
    const sigmas = Array.from({ length: many }, (_, i) => 0.004 + (0.006 * i) / many);
    const normal = normals(100 + runs);
    const found = Array.from({ length: 200 }, () => {
      const side = (sigma: number): number[] => Array.from({ length: runs }, () => Math.exp(sigma * normal()));
      const sides = sigmas.map((sigma, i) => ({
        cellKey: `c${i}`,
        base: side(sigma),
        head: side(sigma),
        betterIs: 'lower' as const,
      }));
      const { cells } = compareCells(sides);
      return {
        change: median(cells.flatMap(({ mdePercent }) => mdePercent ?? [])) ?? 0,
        nightPercent: cells[0]?.noise?.nightPercent ?? 0,
      };
    });
    // From twenty cells on a comparison also reads how nights differ, which by chance is a little more than nothing.
    const nights = (median(found.map(({ nightPercent }) => nightPercent)) ?? 0) / 100;
    const cells = scatter(sigmas).map((cell) => ({ ...cell, nights }));
    const typical = median(visibleChanges(cells, runs)) ?? 0;
    const said = median(found.map(({ change }) => change)) ?? 0;
    expect(typical / said).toBeGreaterThan(0.95);
    expect(typical / said).toBeLessThan(1.08);
  });

  test('of one cell with many runs it is the limit of a call and 1.28 standard errors more', () => {
    const [percent = 0] = visibleChanges(scatter([0.02]), 50);
    const errors = tQuantile(0.03, 98) + 1.2816;
    expect(percent).toBeCloseTo(100 * Math.expm1(errors * 0.02 * Math.sqrt(2 / 50)), 1);
  });

  test('of many cells it is larger, as one call among many must be surer', () => {
    const [one = 0] = visibleChanges(scatter([0.005]), 5);
    const many = visibleChanges(scatter(Array.from({ length: 100 }, () => 0.005)), 5);
    expect(median(many) ?? 0).toBeGreaterThan(1.1 * one);
  });

  test('is never below what is called at all, which is half a percent', () => {
    for (const percent of visibleChanges(scatter([1e-5, 1e-4]), 5)) {
      expect(percent).toBeCloseTo(0.5, 1);
      expect(percent).toBeGreaterThanOrEqual(0.5);
    }
    const head = (percent: number): number[] => [0.99999, 1, 1.00001].map((value) => value * (1 + percent / 100));
    const verdictOf = (percent: number) =>
      compareCells([{ cellKey: 'c', base: head(0), head: head(percent), betterIs: 'lower' }]).cells[0]?.verdict;
    expect(verdictOf(LEAST_CALLED_PERCENT + 0.01)).toBe('slower');
    // It is there, and too small to be called.
    expect(verdictOf(LEAST_CALLED_PERCENT - 0.01)).toBe('unclear');
  });

  test('nights that scatter more than runs make it larger', () => {
    const past = Array.from({ length: 12 }, (_, night) => 1 + 0.02 * (night % 2));
    const [quiet = 0] = visibleChanges(scatter([0.003]), 4);
    const [restless = 0] = visibleChanges([{ key: 'c', sigma: 0.003, past }], 4);
    expect(restless).toBeGreaterThan(2 * quiet);
  });
});

test('what nights differ by is in it, as in a comparison of two of them', () => {
  const normal = normals(5);
  const nights = 0.003 * Math.SQRT2;
  const cells = scatter(Array.from({ length: 40 }, () => 0.002));
  const found = Array.from({ length: 30 }, () => {
    const side = (): number[] => {
      const night = 0.003 * normal();
      return Array.from({ length: 5 }, () => Math.exp(night + 0.002 * normal()));
    };
    const sides = cells.map(({ key }) => ({ cellKey: key, base: side(), head: side(), betterIs: 'lower' as const }));
    return median(compareCells(sides).cells.flatMap(({ mdePercent }) => mdePercent ?? [])) ?? 0;
  });
  const typical =
    median(
      visibleChanges(
        cells.map((cell) => ({ ...cell, nights })),
        5,
      ),
    ) ?? 0;
  expect(typical / (median(found) ?? 0)).toBeGreaterThan(0.85);
  expect(typical / (median(found) ?? 0)).toBeLessThan(1.18);
  expect(typical).toBeGreaterThan(2 * (median(visibleChanges(cells, 5)) ?? 0));
});

describe('repeats for a wanted change', () => {
  test('are the fewest that show it', () => {
    const cells = scatter([0.002, 0.01, 0.03]);
    const needed = repeatsFor(cells, 2);
    expect(needed[0]).toBeLessThan(6);
    for (const [index, runs] of needed.entries()) {
      if (runs === null || runs === 3) continue;
      expect(visibleChanges(cells, runs)[index]).toBeLessThanOrEqual(2);
      expect(visibleChanges(cells, runs - 1)[index]).toBeGreaterThan(2);
    }
    expect(needed[1]).toBeGreaterThan(5);
    expect(needed[2]).toBeGreaterThan(needed[1] ?? 0);
  });

  test('more than a hundred are no plan', () => {
    expect(repeatsFor(scatter([0.2]), 2)).toEqual([null]);
    expect(repeatsFor([], 2)).toEqual([]);
  });

  test('a smaller change takes more', () => {
    const [two = 0] = repeatsFor(scatter([0.01]), 2);
    const [one = 0] = repeatsFor(scatter([0.01]), 1);
    expect((one ?? 0) / (two ?? 1)).toBeGreaterThan(3);
  });
});
