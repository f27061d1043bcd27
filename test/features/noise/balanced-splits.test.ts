import { describe, expect, test } from 'vitest';

import { balancedSplit, SPLITS } from '../../../src/features/noise/false-alarms.ts';

const signsOf = (split: readonly boolean[]): number[] => split.map((isSecond) => (isSecond ? 1 : -1));
const ways = (runs: number): number[][] =>
  Array.from({ length: SPLITS }, (_, way) => balancedSplit(runs, way))
    .filter((split) => split !== null)
    .map(signsOf);
const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);

describe('splits into halves', () => {
  test('fewer than four runs have none', () => {
    expect([0, 1, 2, 3].flatMap(ways)).toEqual([]);
    expect(balancedSplit(8, SPLITS)).toBeNull();
  });

  test('four runs: every second one, pairs, and A B B A', () => {
    expect(ways(4)).toEqual([
      [-1, 1, -1, 1],
      [-1, -1, 1, 1],
      [-1, 1, 1, -1],
    ]);
  });

  test.each([4, 8, 12, 16])('among %i runs they are orthogonal, and blind to the level', (runs) => {
    const [a = [], b = [], c = []] = ways(runs);
    expect([dot(a, b), dot(a, c), dot(b, c)]).toEqual([0, 0, 0]);
    for (const split of [a, b, c])
      expect(
        dot(
          split,
          split.map(() => 1),
        ),
      ).toBe(0);
  });

  test.each([5, 6, 7, 9, 10, 11, 13])('among %i runs the halves differ by one at most', (runs) => {
    const found = ways(runs);
    expect(found.length).toBeGreaterThanOrEqual(2);
    for (const split of found) {
      expect(split).toHaveLength(runs);
      expect(Math.abs(split.reduce((sum, sign) => sum + sign, 0))).toBeLessThanOrEqual(1);
    }
  });
});
